// sqlx: Vec<f32> is real[], Vec<f64> is double precision[], Vec<u8> is bytea.
use pgvector::Vector;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgConnection};
use sqlx::{query::Query, Connection, Executor, Postgres, Row};
use std::env;
use uuid::Uuid;

const ROWS: u64 = 2000;
const DIMS: u64 = 8;
const STEP: u128 = 0x9E3779B97F4A7C15F39CC0605CEDC835;
type Result<T> = std::result::Result<T, sqlx::Error>;

fn element(i: u64, j: u64) -> u64 {
    (37 * i + 101 * j + 13 * i * j) % 251
}

fn reals(i: u64) -> Vec<f32> {
    (0..DIMS).map(|j| element(i, j) as f32).collect()
}

fn doubles(i: u64) -> Vec<f64> {
    (0..DIMS).map(|j| element(i, j) as f64).collect()
}

fn data(i: u64) -> Vec<u8> {
    (0..DIMS).map(|j| element(i, j) as u8).collect()
}

fn key(i: u64) -> Uuid {
    Uuid::from_u128(STEP.wrapping_mul(i as u128))
}

fn check(failed: &mut bool, good: bool, name: String) {
    *failed |= !good;
    println!("{} - {}", if good { "ok" } else { "not ok" }, name);
}

type Statement<'q> = Query<'q, Postgres, PgArguments>;

async fn plan(db: &mut PgConnection, query: Statement<'_>) -> Result<String> {
    let rows = query.fetch_all(db).await?;
    Ok(rows.iter().map(|row| row.get::<String, _>(0)).collect())
}

async fn list(db: &mut PgConnection, query: Statement<'_>) -> Result<Vec<f64>> {
    let rows = query.fetch_all(db).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

macro_rules! ask {
    ($db:expr, $failed:expr, $column:expr, $value:expr, $name:expr) => {{
        let far = format!("{} <-> $1", $column);
        let sql = format!("SELECT {far} FROM items ORDER BY {far} LIMIT 10");
        let explain = format!("EXPLAIN (COSTS OFF) {sql}");
        let sorted = format!("SELECT {far} FROM items ORDER BY ({far}) + 0 * id LIMIT 10");
        let text = plan($db, sqlx::query(&explain).bind($value)).await?;
        check($failed, text.contains(&format!("using items_{}", $column)), format!("{}: index in use", $name));
        let exact = list($db, sqlx::query(&sorted).bind($value)).await?;
        let found = list($db, sqlx::query(&sql).bind($value)).await?;
        check($failed, exact.len() == 10 && found == exact, format!("{}: answer", $name));
    }};
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let vector = env::var("PGVECTOR").as_deref() == Ok("1");
    let options = PgConnectOptions::new();
    let db = &mut PgConnection::connect_with(&options).await?;
    let failed = &mut false;

    println!("version: sqlx {}", option_env!("SQLX_VERSION").unwrap_or("?"));
    let more = if vector { format!(", v vector({DIMS})") } else { String::new() };
    let sql = format!("CREATE TABLE items (id int PRIMARY KEY, k uuid, r real[], d double precision[], b bytea{more})");
    db.execute(sql.as_str()).await?;
    let sql = format!("INSERT INTO items VALUES ($1, $2, $3, $4, $5{})", if vector { ", $6" } else { "" });
    db.execute("BEGIN").await?;
    for i in 0..ROWS {
        let mut row = sqlx::query(&sql).bind(i as i32).bind(key(i)).bind(reals(i)).bind(doubles(i)).bind(data(i));
        if vector {
            row = row.bind(Vector::from(reals(i)));
        }
        row.execute(&mut *db).await?;
    }
    db.execute("COMMIT").await?;
    for column in ["r", "d", "b"].iter().chain(if vector { ["v"].iter() } else { [].iter() }) {
        db.execute(format!("CREATE INDEX items_{column} ON items USING ecp ({column})").as_str()).await?;
    }
    for sql in ["CREATE INDEX items_k ON items USING betree (k)", "ANALYZE items", "SET ecp.probes = 1000",
        "SET enable_seqscan = off", "SET enable_bitmapscan = off"] {
        db.execute(sql).await?;
    }

    ask!(db, failed, "r", reals(7), "Vec<f32>, real[]");
    ask!(db, failed, "d", doubles(7), "Vec<f64>, double precision[]");
    ask!(db, failed, "b", data(7), "Vec<u8>");
    if vector {
        ask!(db, failed, "v", Vector::from(reals(7)), "pgvector's Vector");
    }

    let (low, high) = (key(3).min(key(4)), key(3).max(key(4)));
    let sql = "SELECT k FROM items WHERE k >= $1 AND k < $2 ORDER BY k";
    let explain = format!("EXPLAIN (COSTS OFF) {sql}");
    let text = plan(db, sqlx::query(&explain).bind(low).bind(high)).await?;
    check(failed, text.contains("items_k"), "uuid, betree: index in use".into());
    let rows = sqlx::query(sql).bind(low).bind(high).fetch_all(&mut *db).await?;
    let found: Vec<Uuid> = rows.iter().map(|row| row.get(0)).collect();
    let mut expected: Vec<Uuid> = (0..ROWS).map(key).filter(|k| *k >= low && *k < high).collect();
    expected.sort();
    check(failed, found == expected, "uuid, betree: answer".into());
    std::process::exit(*failed as i32)
}
