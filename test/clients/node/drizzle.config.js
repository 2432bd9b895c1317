// of drizzle-kit
import { defineConfig } from "drizzle-kit";

const { PGHOST: host, PGPORT: port, PGUSER: user, PGDATABASE: database } = process.env;
export default defineConfig({
  dialect: "postgresql",
  schema: "./drizzle-schema.js",
  out: "./drizzle",
  tablesFilter: ["items"],
  dbCredentials: { host, port: Number(port), user, database, ssl: false },
});
