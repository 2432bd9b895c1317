// Prisma: the access method is written into the migration; the next one must not drop the index.
import { spawnSync } from "child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "fs";
import { between, check, data, exit, high, key, low, ROWS, vector } from "./common.js";

const versions = ["prisma", "@prisma/adapter-pg"].map((name) => `${name} ${JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version}`);
console.log(`version: ${versions.join(", ")}`);

// any file, so that no query engine is downloaded, which this client does not use
process.env.PRISMA_QUERY_ENGINE_LIBRARY = "package.json";
process.env.CHECKPOINT_DISABLE = "1";
process.env.DATABASE_URL = "postgresql://unused";
// "create-only" ends with an error of its engine, after the file: what the commands did is looked at instead
const cli = (...words) => {
  const { stdout, stderr } = spawnSync("npx", ["prisma", ...words], { encoding: "utf8" });
  console.log(stdout, stderr);
};
const migration = (name, schema = "schema.prisma") => {
  cli("migrate", "dev", "--create-only", "--skip-generate", "--name", name, "--schema", schema);
  const file = `migrations/${readdirSync("migrations").find((folder) => folder.endsWith(`_${name}`))}/migration.sql`;
  return [file, readFileSync(file, "utf8")];
};

rmSync("migrations", { recursive: true, force: true });
cli("generate");
const [file, sql] = migration("first");
writeFileSync(file, "CREATE EXTENSION IF NOT EXISTS ecp_pgvector CASCADE;\n"
  + sql.replace(/ON "items"\("(.)"\)/g, (_, column) => `ON "items" USING ${column === "k" ? "betree" : "ecp"} ("${column}")`));
cli("migrate", "deploy");

const { Prisma, PrismaClient } = (await import("@prisma/client")).default;
const { PrismaPg } = await import("@prisma/adapter-pg");
const { PGHOST: host, PGPORT: port, PGUSER: user, PGDATABASE: database } = process.env;
const open = () => new PrismaClient({ adapter: new PrismaPg({ host, port: Number(port), user, database }) });
const setup = open();
for (const setting of ["ecp.probes = 1000", "enable_seqscan = off", "enable_bitmapscan = off"])
  await setup.$executeRawUnsafe(`ALTER DATABASE ${database} SET ${setting}`);
await setup.$disconnect();
const db = open();
const indexes = async () => JSON.stringify(await db.$queryRaw`SELECT indexrelid::int, pg_get_indexdef(indexrelid)
  FROM pg_index WHERE indrelid = 'items'::regclass ORDER BY 1`);

const made = await indexes();
check(made.includes("USING ecp (v)") && made.includes("USING betree (k)"), "migrate deploy: indexes");
check(migration("second")[1].includes("empty migration"), "second migration: empty");
cli("migrate", "deploy");
writeFileSync("without.prisma", readFileSync("schema.prisma", "utf8").replace(/.*"items_v".*\n/, ""));
const [third, dropped] = migration("third", "without.prisma");
check(dropped.includes('DROP INDEX "items_v"'), "a schema without the index: the migration drops it");
rmSync(third.replace("/migration.sql", ""), { recursive: true });
cli("db", "push", "--skip-generate");
check((await indexes()) === made, "db push: indexes are those of before");

await db.item.createMany({ data: Array.from({ length: ROWS }, (_, i) => ({ id: i, k: key(i), r: vector(i), d: vector(i), b: data(i) })) });
await db.$executeRaw`UPDATE items SET v = r::vector`;
await db.$executeRawUnsafe("ANALYZE items");
const planOf = async (query) => (await db.$queryRaw`EXPLAIN (COSTS OFF) ${query}`).map((row) => row["QUERY PLAN"]).join("\n");
async function ask(column, far, name) {
  const near = (order) => Prisma.sql`SELECT ${far} AS far FROM items ORDER BY ${order} LIMIT 10`;
  check((await planOf(near(far))).includes(`using items_${column}`), `${name}: index in use`);
  const exact = await db.$queryRaw(near(Prisma.sql`(${far}) + 0 * id`));
  check(JSON.stringify(await db.$queryRaw(near(far))) === JSON.stringify(exact) && exact.length === 10, `${name}: answer`);
}
await ask("r", Prisma.sql`r <-> ${vector(7)}::real[]`, "list, Float[] @db.Real");
await ask("d", Prisma.sql`d <-> ${vector(7)}::double precision[]`, "list, Float[]");
await ask("b", Prisma.sql`b <-> ${data(7)}`, "Bytes");
await ask("v", Prisma.sql`v <-> ${JSON.stringify(vector(7))}::vector`, 'text, Unsupported("vector")');

const range = Prisma.sql`SELECT k FROM items WHERE k >= ${low}::uuid AND k < ${high}::uuid ORDER BY k`;
check((await planOf(range)).includes("items_k"), "uuid, betree: index in use");
check(String((await db.$queryRaw(range)).map((row) => row.k)) === String(between), "uuid, betree: answer");
await db.$disconnect();
exit();
