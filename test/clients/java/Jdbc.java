// The JDBC driver: arrays are made with createArrayOf.

import com.pgvector.PGvector;
import java.math.BigInteger;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

public class Jdbc extends Common {
	static final BigInteger STEP = new BigInteger("9E3779B97F4A7C15F39CC0605CEDC835", 16);

	static Float[] reals(int i) {
		Float[] v = new Float[DIMS];
		for (int j = 0; j < DIMS; j++) v[j] = (float) element(i, j);
		return v;
	}

	static Double[] doubles(int i) {
		Double[] v = new Double[DIMS];
		for (int j = 0; j < DIMS; j++) v[j] = (double) element(i, j);
		return v;
	}

	static byte[] data(int i) {
		byte[] v = new byte[DIMS];
		for (int j = 0; j < DIMS; j++) v[j] = (byte) element(i, j);
		return v;
	}

	static UUID key(int i) {
		BigInteger n = STEP.multiply(BigInteger.valueOf(i)).mod(BigInteger.ONE.shiftLeft(128));
		return new UUID(n.shiftRight(64).longValue(), n.longValue());
	}

	static List<Double> numbers(List<String> texts) {
		return texts.stream().map(Double::valueOf).toList();
	}

	static void ask(String column, Object value, String name) throws Exception {
		String far = column + " <-> ?";
		String sql = "SELECT " + far + " FROM items ORDER BY " + far + " LIMIT 10";
		String plan = String.join("\n", list("EXPLAIN (COSTS OFF) " + sql, value));
		check(plan.contains("using items_" + column), name + ": index in use");
		List<Double> exact = numbers(list("SELECT " + far + " FROM items ORDER BY (" + far + ") + 0 * id LIMIT 10", value));
		// the driver prepares the statement on the server at its fifth use
		boolean good = exact.size() == 10;
		for (int n = 0; n < 7; n++) good &= numbers(list(sql, value)).equals(exact);
		check(good, name + ": answer");
	}

	public static void main(String[] arguments) throws Exception {
		connect();
		System.out.println("version: JDBC " + db.getMetaData().getDriverVersion());
		if (VECTOR) PGvector.registerTypes(db);
		Statement statement = db.createStatement();
		statement.execute("CREATE TABLE items (id int PRIMARY KEY, k uuid, r real[], d double precision[], b bytea"
			+ (VECTOR ? ", v vector(" + DIMS + ")" : "") + ")");
		PreparedStatement insert = db.prepareStatement("INSERT INTO items VALUES (?, ?, ?, ?, ?" + (VECTOR ? ", ?)" : ")"));
		for (int i = 0; i < ROWS; i++) {
			insert.setInt(1, i);
			insert.setObject(2, key(i));
			insert.setArray(3, db.createArrayOf("float4", reals(i)));
			insert.setArray(4, db.createArrayOf("float8", doubles(i)));
			insert.setBytes(5, data(i));
			if (VECTOR) insert.setObject(6, new PGvector(floats(i)));
			insert.addBatch();
		}
		insert.executeBatch();
		for (String column : VECTOR ? List.of("r", "d", "b", "v") : List.of("r", "d", "b"))
			statement.execute("CREATE INDEX items_" + column + " ON items USING ecp (" + column + ")");
		for (String sql : List.of("CREATE INDEX items_k ON items USING betree (k)", "ANALYZE items",
				"SET ecp.probes = 1000", "SET enable_seqscan = off", "SET enable_bitmapscan = off"))
			statement.execute(sql);

		ask("r", db.createArrayOf("float4", reals(7)), "createArrayOf float4");
		ask("d", db.createArrayOf("float8", doubles(7)), "createArrayOf float8");
		ask("b", data(7), "byte[]");
		if (VECTOR) ask("v", new PGvector(floats(7)), "PGvector");

		List<String> keys = new ArrayList<>();
		for (int i = 0; i < ROWS; i++) keys.add(key(i).toString());
		keys.sort(null);
		String low = key(3).toString(), high = key(4).toString();
		if (low.compareTo(high) > 0) {
			String swap = low;
			low = high;
			high = swap;
		}
		String sql = "SELECT k FROM items WHERE k >= ? AND k < ? ORDER BY k";
		Object[] ends = {UUID.fromString(low), UUID.fromString(high)};
		check(String.join("\n", list("EXPLAIN (COSTS OFF) " + sql, ends)).contains("items_k"), "uuid, betree: index in use");
		check(list(sql, ends).equals(keys.subList(keys.indexOf(low), keys.indexOf(high))), "uuid, betree: answer");
		System.exit(failed ? 1 : 0);
	}
}
