// Spring AI's PgVectorStore without an index of its own: the index is one statement more.

import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.IntStream;
import org.springframework.ai.document.Document;
import org.springframework.ai.embedding.Embedding;
import org.springframework.ai.embedding.EmbeddingModel;
import org.springframework.ai.embedding.EmbeddingRequest;
import org.springframework.ai.embedding.EmbeddingResponse;
import org.springframework.ai.vectorstore.SearchRequest;
import org.springframework.ai.vectorstore.pgvector.PgVectorStore;
import org.springframework.jdbc.core.JdbcTemplate;

public class SpringAi extends Common {
	// the text of a number is its vector
	static final EmbeddingModel NUMBERS = new EmbeddingModel() {
		public float[] embed(Document document) {
			return floats(Integer.parseInt(document.getText()));
		}

		public EmbeddingResponse call(EmbeddingRequest request) {
			List<String> texts = request.getInstructions();
			return new EmbeddingResponse(IntStream.range(0, texts.size())
				.mapToObj(n -> new Embedding(floats(Integer.parseInt(texts.get(n))), n)).toList());
		}
	};

	static PgVectorStore open() {
		PgVectorStore store = PgVectorStore.builder(new JdbcTemplate(source()), NUMBERS).vectorTableName("items").dimensions(DIMS)
			.indexType(PgVectorStore.PgIndexType.NONE).initializeSchema(true).build();
		store.afterPropertiesSet();
		return store;
	}

	static List<Double> search(PgVectorStore store, SearchRequest.Builder request) {
		return store.similaritySearch(request.query("7").build()).stream().map(found -> 1 - found.getScore()).toList();
	}

	public static void main(String[] arguments) throws Exception {
		version("spring-ai-pgvector-store", "postgresql");
		connect();
		PgVectorStore store = open();
		execute("CREATE INDEX items_v ON items USING ecp (embedding vector_cosine_ops)");
		List<String> made = index();
		store.add(IntStream.range(0, ROWS).mapToObj(i -> new Document(new UUID(0, i).toString(), "" + i, Map.of("odd", i % 2))).toList());
		store = open();
		check(index().equals(made), "initialize-schema again: index kept");
		execute("ANALYZE items", "SET ecp.probes = 1000", "SET enable_seqscan = off", "SET enable_bitmapscan = off");

		PgVectorStore items = store;
		ask("similaritySearch", 1, k -> search(items, SearchRequest.builder().topK(k)));
		ask("similaritySearch with a threshold", 1 - 0.9, k -> search(items, SearchRequest.builder().topK(k).similarityThreshold(0.9)));
		System.exit(failed ? 1 : 0);
	}
}
