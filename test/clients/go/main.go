// pgx: slices of float32 and float64 get the types that the server infers.
package main

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"os"
	"reflect"
	"runtime/debug"
	"sort"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/pgvector/pgvector-go"
	pgxvec "github.com/pgvector/pgvector-go/pgx"
)

const rows, dims = 2000, 8

var (
	ctx    = context.Background()
	failed = false
	vec    = os.Getenv("PGVECTOR") == "1"
	step   = new(big.Int)
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func check(good bool, name string) {
	if !good {
		failed = true
		name = "not ok - " + name
	} else {
		name = "ok - " + name
	}
	fmt.Println(name)
}

func element(i, j int) int { return (37*i + 101*j + 13*i*j) % 251 }

func reals(i int) (v []float32) {
	for j := 0; j < dims; j++ {
		v = append(v, float32(element(i, j)))
	}
	return
}

func doubles(i int) (v []float64) {
	for j := 0; j < dims; j++ {
		v = append(v, float64(element(i, j)))
	}
	return
}

func data(i int) (v []byte) {
	for j := 0; j < dims; j++ {
		v = append(v, byte(element(i, j)))
	}
	return
}

func key(i int) pgtype.UUID {
	var n big.Int
	var u pgtype.UUID
	n.Mul(step, big.NewInt(int64(i))).And(&n, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1)))
	n.FillBytes(u.Bytes[:])
	u.Valid = true
	return u
}

func list[T any](db *pgx.Conn, sql string, values ...any) []T {
	found, err := db.Query(ctx, sql, values...)
	must(err)
	answer, err := pgx.CollectRows(found, pgx.RowTo[T])
	must(err)
	return answer
}

func uses(db *pgx.Conn, index, sql string, values ...any) bool {
	return strings.Contains(strings.Join(list[string](db, "EXPLAIN (COSTS OFF) "+sql, values...), "\n"), index)
}

func ask(db *pgx.Conn, column string, value any, name string) {
	far := column + " <-> $1"
	sql := "SELECT " + far + " FROM items ORDER BY " + far + " LIMIT 10"
	check(uses(db, "using items_"+column, sql, value), name+": index in use")
	exact := list[float64](db, "SELECT "+far+" FROM items ORDER BY ("+far+") + 0 * id LIMIT 10", value)
	check(len(exact) == 10 && reflect.DeepEqual(list[float64](db, sql, value), exact), name+": answer")
}

func main() {
	step.SetString("9E3779B97F4A7C15F39CC0605CEDC835", 16)
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if strings.HasPrefix(module.Path, "github.com/jackc/pgx/") {
			fmt.Println("version: pgx", module.Version)
		}
	}
	db, err := pgx.Connect(ctx, "")
	must(err)
	columns, names := "", []string{"id", "k", "r", "d", "b"}
	if vec {
		must(pgxvec.RegisterTypes(ctx, db))
		columns, names = fmt.Sprintf(", v vector(%d)", dims), append(names, "v")
	}
	_, err = db.Exec(ctx, "CREATE TABLE items (id int PRIMARY KEY, k uuid, r real[], d double precision[], b bytea"+columns+")")
	must(err)
	_, err = db.CopyFrom(ctx, pgx.Identifier{"items"}, names, pgx.CopyFromSlice(rows, func(i int) ([]any, error) {
		row := []any{i, key(i), reals(i), doubles(i), data(i)}
		if vec {
			row = append(row, pgvector.NewVector(reals(i)))
		}
		return row, nil
	}))
	must(err)
	for _, name := range names[2:] {
		_, err = db.Exec(ctx, "CREATE INDEX items_"+name+" ON items USING ecp ("+name+")")
		must(err)
	}
	for _, sql := range []string{"CREATE INDEX items_k ON items USING betree (k)", "ANALYZE items",
		"SET ecp.probes = 1000", "SET enable_seqscan = off", "SET enable_bitmapscan = off"} {
		_, err = db.Exec(ctx, sql)
		must(err)
	}

	ask(db, "r", reals(7), "[]float32, real[]")
	ask(db, "d", doubles(7), "[]float64, double precision[]")
	ask(db, "b", data(7), "[]byte")
	if vec {
		ask(db, "v", pgvector.NewVector(reals(7)), "pgvector-go")
	}

	low, high := key(3), key(4)
	if bytes.Compare(low.Bytes[:], high.Bytes[:]) > 0 {
		low, high = high, low
	}
	sql := "SELECT k FROM items WHERE k >= $1 AND k < $2 ORDER BY k"
	check(uses(db, "items_k", sql, low, high), "uuid, betree: index in use")
	expected := []pgtype.UUID{}
	for i := 0; i < rows; i++ {
		k := key(i)
		if bytes.Compare(k.Bytes[:], low.Bytes[:]) >= 0 && bytes.Compare(k.Bytes[:], high.Bytes[:]) < 0 {
			expected = append(expected, k)
		}
	}
	sort.Slice(expected, func(a, b int) bool { return bytes.Compare(expected[a].Bytes[:], expected[b].Bytes[:]) < 0 })
	check(reflect.DeepEqual(list[pgtype.UUID](db, sql, low, high), expected), "uuid, betree: answer")
	must(db.Close(ctx))
	if failed {
		os.Exit(1)
	}
}
