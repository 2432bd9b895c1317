// langchain4j's PgVectorEmbeddingStore without an index of its own: the index is one statement more.

import dev.langchain4j.data.document.Metadata;
import dev.langchain4j.data.embedding.Embedding;
import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.store.embedding.EmbeddingSearchRequest;
import dev.langchain4j.store.embedding.pgvector.PgVectorEmbeddingStore;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

public class Langchain4j extends Common {
	static PgVectorEmbeddingStore open(PgVectorEmbeddingStore.SearchMode mode) {
		return PgVectorEmbeddingStore.datasourceBuilder().datasource(source()).table("items").dimension(DIMS).searchMode(mode).build();
	}

	static List<Double> search(PgVectorEmbeddingStore store, EmbeddingSearchRequest.EmbeddingSearchRequestBuilder request) {
		return store.search(request.queryEmbedding(Embedding.from(floats(7))).build()).matches().stream()
			.map(match -> 2 - 2 * match.score()).toList();
	}

	public static void main(String[] arguments) throws Exception {
		version("langchain4j-pgvector", "postgresql");
		connect();
		PgVectorEmbeddingStore store = open(PgVectorEmbeddingStore.SearchMode.VECTOR);
		execute("CREATE INDEX items_v ON items USING ecp (embedding vector_cosine_ops)");
		List<String> made = index();
		store.addAll(IntStream.range(0, ROWS).mapToObj(i -> Embedding.from(floats(i))).toList(),
			IntStream.range(0, ROWS).mapToObj(i -> TextSegment.from("number " + i, Metadata.from(Map.of("odd", i % 2)))).toList());
		PgVectorEmbeddingStore again = open(PgVectorEmbeddingStore.SearchMode.HYBRID);
		check(index().equals(made), "createTable again: index kept");
		execute("ANALYZE items", "SET ecp.probes = 1000", "SET enable_seqscan = off", "SET enable_bitmapscan = off");

		ask("search", 2, k -> search(store, EmbeddingSearchRequest.builder().maxResults(k)));
		ask("search with minScore", 2 - 2 * 0.95, k -> search(store, EmbeddingSearchRequest.builder().maxResults(k).minScore(0.95)));

		List<?> hybrid = again.search(EmbeddingSearchRequest.builder().queryEmbedding(Embedding.from(floats(7))).query("number 7")
			.maxResults(5).build()).matches();
		check(hybrid.size() == 5 && list("SELECT wanted FROM ecp_last_scan()").equals(List.of("60")), "hybrid search: index in use");
		System.exit(failed ? 1 : 0);
	}
}
