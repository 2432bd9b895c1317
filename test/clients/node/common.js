// What the programs for node share: the vectors and keys of a row, and lines of results.
export const ROWS = 2000, DIMS = 8, VECTOR = process.env.PGVECTOR === "1";

export const vector = (i) => Array.from({ length: DIMS }, (_, j) => (37 * i + 101 * j + 13 * i * j) % 251);
export const data = (i) => Buffer.from(vector(i));
export const key = (i) => {
  const hex = BigInt.asUintN(128, BigInt(i) * 0x9e3779b97f4a7c15f39cc0605cedc835n).toString(16).padStart(32, "0");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
};

// Two ends of a range of keys, and the keys between them, in order
export const [low, high] = [key(3), key(4)].sort();
export const between = Array.from({ length: ROWS }, (_, i) => key(i)).filter((k) => k >= low && k < high).sort();

let failed = false;
export const check = (good, name) => {
  failed ||= !good;
  console.log(`${good ? "ok" : "not ok"} - ${name}`);
};
export const exit = () => process.exit(failed ? 1 : 0);
