// node-postgres: parameters are sent as text, with the types that the server infers.
import { createRequire } from "module";
import pg from "pg";
import { between, check, data, DIMS, exit, high, key, low, ROWS, vector, VECTOR } from "./common.js";

const require = createRequire(import.meta.url);
console.log(`version: pg ${require("pg/package.json").version}`);
const db = new pg.Client();
await db.connect();
let toSql = null;
if (VECTOR) {
  const pgvector = (await import("pgvector/pg")).default;
  await pgvector.registerTypes(db);
  toSql = pgvector.toSql;
}
await db.query(`CREATE TABLE items (id int PRIMARY KEY, k uuid, r real[], d double precision[], b bytea
  ${VECTOR ? `, v vector(${DIMS})` : ""})`);
await db.query("BEGIN");
for (let i = 0; i < ROWS; i++) {
  const row = [i, key(i), vector(i), vector(i), data(i)];
  if (VECTOR) row.push(toSql(vector(i)));
  await db.query({ name: "insert", text: `INSERT INTO items VALUES (${row.map((_, n) => `$${n + 1}`)})`, values: row });
}
await db.query("COMMIT");
for (const column of ["r", "d", "b", ...(VECTOR ? ["v"] : [])])
  await db.query(`CREATE INDEX items_${column} ON items USING ecp (${column})`);
await db.query("CREATE INDEX items_k ON items USING betree (k)");
await db.query("ANALYZE items");
await db.query("SET ecp.probes = 1000; SET enable_seqscan = off; SET enable_bitmapscan = off");

const distances = async (sql, value) => (await db.query(sql, [value])).rows.map((row) => row.far);
async function ask(column, value, name) {
  const far = `${column} <-> $1`;
  const sql = `SELECT ${far} AS far FROM items ORDER BY ${far} LIMIT 10`;
  const plan = await db.query(`EXPLAIN (COSTS OFF) ${sql}`, [value]);
  check(plan.rows.some((row) => row["QUERY PLAN"].includes(`using items_${column}`)), `${name}: index in use`);
  const exact = await distances(`SELECT ${far} AS far FROM items ORDER BY (${far}) + 0 * id LIMIT 10`, value);
  check(String(await distances(sql, value)) === String(exact) && exact.length === 10, `${name}: answer`);
}
await ask("r", vector(7), "list, real[]");
await ask("d", vector(7), "list, double precision[]");
await ask("b", data(7), "Buffer");
if (VECTOR) await ask("v", toSql(vector(7)), "pgvector's toSql, vector");

const sql = "SELECT k FROM items WHERE k >= $1 AND k < $2 ORDER BY k";
const plan = await db.query(`EXPLAIN (COSTS OFF) ${sql}`, [low, high]);
check(plan.rows.some((row) => row["QUERY PLAN"].includes("items_k")), "uuid, betree: index in use");
const found = (await db.query(sql, [low, high])).rows.map((row) => row.k);
check(String(found) === String(between), "uuid, betree: answer");
await db.end();
exit();
