// Hibernate's vector module: the schema tool makes the table, and one statement of a script the index.

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.Array;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.cfg.Configuration;
import org.hibernate.type.SqlTypes;

public class Hibernate extends Common {
	@Entity(name = "Item")
	@Table(name = "items")
	public static class Item {
		@Id
		public int id;
		public UUID k;
		@JdbcTypeCode(SqlTypes.VECTOR)
		@Array(length = DIMS)
		public float[] v;
	}

	static SessionFactory open(String tool) throws Exception {
		Path script = Files.createTempFile("items", ".sql");
		Files.writeString(script, "CREATE INDEX items_v ON items USING ecp (v vector_cosine_ops);\n");
		Configuration configuration = new Configuration().addAnnotatedClass(Item.class);
		configuration.getProperties().put("hibernate.connection.datasource", source());
		return configuration.setProperty("hibernate.hbm2ddl.auto", tool)
			.setProperty("jakarta.persistence.sql-load-script-source", script.toUri().toString()).buildSessionFactory();
	}

	static List<Double> search(Session session, String where, String order, int k) {
		return session.createQuery("select cosine_distance(v, :q) from Item " + where + " order by " + order, Double.class)
			.setParameter("q", floats(7)).setMaxResults(k).list();
	}

	public static void main(String[] arguments) throws Exception {
		version("hibernate-vector", "postgresql");
		connect();
		open("create").inTransaction(session -> {
			for (int i = 0; i < ROWS; i++) {
				Item item = new Item();
				item.id = i;
				item.k = new UUID(i, i);
				item.v = floats(i);
				session.persist(item);
			}
		});
		List<String> made = index();
		check(made.size() == 1, "create: the script's index");
		open("update");
		check(index().equals(made), "update: index kept");
		SessionFactory factory = open("validate");
		check(index().equals(made), "validate: index kept");
		execute("ANALYZE items", "SET ecp.probes = 1000", "SET enable_seqscan = off", "SET enable_bitmapscan = off");

		Session session = factory.openSession();
		ask("cosine_distance", 2, k -> search(session, "", "cosine_distance(v, :q)", k));
		ask("cosine_distance below a number", 0.1, k -> search(session, "where cosine_distance(v, :q) < 0.1", "1", k));
		System.exit(failed ? 1 : 0);
	}
}
