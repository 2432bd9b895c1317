// Prisma's schema engine as a module of the CLI, which needs no binary of binaries.prisma.sh.  As it is in 6.19 it knows two
// types of the catalogs not at all, and drops the shadow database before its last session has ended.
import { createRequire } from "module";
import { PrismaPg } from "@prisma/adapter-pg";
import { defineConfig } from "prisma/config";

const Result = createRequire(import.meta.url)("pg/lib/result");
const addFields = Result.prototype.addFields;
const TEXT = new Map([[18, 25], [19, 25], [1002, 1009], [1003, 1009]]); // "char", name, arrays of them
Result.prototype.addFields = function (fields) {
  for (const field of fields) field.dataTypeID = TEXT.get(field.dataTypeID) ?? field.dataTypeID;
  return addFields.call(this, fields);
};

const { PGHOST: host, PGPORT: port, PGUSER: user, PGDATABASE: database } = process.env;
class Adapter extends PrismaPg {
  async connectToShadowDb() {
    const shadow = `shadow_${crypto.randomUUID()}`;
    const main = await this.connect();
    await main.executeScript(`CREATE DATABASE "${shadow}"`);
    await main.dispose();
    return new PrismaPg({ host, port: Number(port), user, database: shadow }).connect();
  }
}
export default defineConfig({
  schema: "schema.prisma",
  migrations: { path: "migrations" },
  experimental: { adapter: true },
  engine: "js",
  adapter: async () => new Adapter({ host, port: Number(port), user, database }),
});
