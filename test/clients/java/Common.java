// What the programs in Java share.

import com.pgvector.PGvector;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import javax.sql.DataSource;

class Common {
	static final int ROWS = 2000, DIMS = 8;
	static final boolean VECTOR = "1".equals(System.getenv("PGVECTOR"));
	static boolean failed = false;
	static Connection db;

	static void check(boolean good, String name) {
		failed |= !good;
		System.out.println((good ? "ok - " : "not ok - ") + name);
	}

	// The class path has a file of each.
	static void version(String... names) {
		String path = System.getProperty("java.class.path");
		System.out.println("version: " + String.join(", ", Arrays.stream(names)
			.map(name -> name + " " + path.replaceAll(".*/" + name + "-(\\d[^/]*)\\.jar.*", "$1")).toList()));
	}

	static int element(int i, int j) {
		return (int) ((37L * i + 101L * j + 13L * i * j) % 251);
	}

	static float[] floats(int i) {
		float[] v = new float[DIMS];
		for (int j = 0; j < DIMS; j++) v[j] = element(i, j);
		return v;
	}

	static void connect() throws Exception {
		db = DriverManager.getConnection(String.format("jdbc:postgresql://%s:%s/%s?user=%s", System.getenv("PGHOST"),
			System.getenv("PGPORT"), System.getenv("PGDATABASE"), System.getenv("PGUSER")));
	}

	static void execute(String... statements) throws Exception {
		for (String sql : statements) db.createStatement().execute(sql);
	}

	static List<String> list(String sql, Object... values) throws Exception {
		List<String> answer = new ArrayList<>();
		try (PreparedStatement statement = db.prepareStatement(sql)) {
			int marks = (int) sql.chars().filter(c -> c == '?').count();
			for (int n = 0; n < marks; n++) statement.setObject(n + 1, values[n % values.length]);
			ResultSet rows = statement.executeQuery();
			while (rows.next()) answer.add(rows.getString(1));
		}
		return answer;
	}

	// ----------------------------------------------------------------------
	// Frameworks that write their queries themselves

	// The connection, which closes nothing, so that what they did can be asked of it.
	static DataSource source() {
		Object open = Proxy.newProxyInstance(Common.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, values) -> {
			try {
				return method.getName().equals("close") ? null : method.invoke(db, values);
			} catch (InvocationTargetException error) {
				throw error.getCause();
			}
		});
		return (DataSource) Proxy.newProxyInstance(Common.class.getClassLoader(), new Class<?>[] {DataSource.class},
			(proxy, method, values) -> method.getName().equals("getConnection") ? open : null);
	}

	// It is the same index if its number is the same.
	static List<String> index() throws Exception {
		return list("SELECT 'items_v'::regclass::oid::int");
	}

	static double far(int i, int j) {
		double product = 0, left = 0, right = 0;
		for (int n = 0; n < DIMS; n++) {
			product += (double) element(i, n) * element(j, n);
			left += Math.pow(element(i, n), 2);
			right += Math.pow(element(j, n), 2);
		}
		return 1 - product / Math.sqrt(left * right);
	}

	interface Search {
		List<Double> nearest(int k) throws Exception;
	}

	// The distances of "search" are those of the rows nearest to row 7 within a distance, and the index is in use.
	// The driver prepares a statement on the server at its fifth use, and the server may plan for all parameters at its tenth.
	static void ask(String name, double within, Search search) throws Exception {
		boolean good = true, used = true, ended = true;
		for (int n = 0; n < 14; n++) {
			int k = 10 + n;
			List<Double> found = search.nearest(k);
			// of the last scan, so of this one, if it was for k rows
			List<String> scan = list("SELECT concat_ws(' ', indexrelid::regclass, wanted) FROM ecp_last_scan()");
			used &= scan.equals(List.of("items_v " + k));
			List<Double> exact = IntStream.range(0, ROWS).mapToObj(i -> far(7, i)).filter(d -> d < within).sorted().limit(k).toList();
			good &= found.size() == exact.size() && IntStream.range(0, exact.size()).allMatch(i -> Math.abs(found.get(i) - exact.get(i)) < 1e-5);
		}
		check(used, name + ": index in use");
		check(good, name + ": answer");
	}
}
