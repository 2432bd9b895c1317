# Active Record with neighbor: the index is a line of a migration, and of the schema that is dumped.
require "stringio"
require "active_record"
require "pg"
require "neighbor"

ROWS = 2000
DIMS = 8
$failed = false

def vector(i) = (0...DIMS).map { |j| (37 * i + 101 * j + 13 * i * j) % 251 }
def data(i) = vector(i).pack("C*")
def key(i) = format("%032x", i * 0x9e3779b97f4a7c15f39cc0605cedc835 % 2**128).sub(/(.{8})(.{4})(.{4})(.{4})/, '\1-\2-\3-\4-')

def check(good, name)
  $failed ||= !good
  puts "#{good ? "ok" : "not ok"} - #{name}"
end

puts "version: activerecord #{ActiveRecord.version}, neighbor #{Neighbor::VERSION}, pg #{PG::VERSION}"
ActiveRecord::Base.establish_connection(
  adapter: "postgresql", host: ENV["PGHOST"], port: ENV["PGPORT"], username: ENV["PGUSER"], database: ENV["PGDATABASE"],
  variables: {"ecp.probes" => 1000, "enable_seqscan" => "off", "enable_bitmapscan" => "off"}
)
ActiveRecord::Migration.verbose = false

class CreateItems < ActiveRecord::Migration[7.2]
  def change
    %w[ecp vector ecp_pgvector].each { |name| enable_extension name } # without CASCADE
    create_table :items do |t|
      t.uuid :k
      t.column :r, "real", array: true
      t.float :d, array: true
      t.binary :b
      t.vector :v, limit: DIMS
    end
    add_index :items, :k, using: :betree
    add_index :items, :r, using: :ecp
    add_index :items, :d, using: :ecp
    add_index :items, :b, using: :ecp
    add_index :items, :v, using: :ecp, opclass: :vector_cosine_ops
  end
end

class Item < ActiveRecord::Base
  has_neighbors :v
end

def db = ActiveRecord::Base.lease_connection
def indexes = db.select_values("SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'items'::regclass ORDER BY 1")

CreateItems.migrate(:up)
made = indexes
check(made.grep(/USING ecp \(v vector_cosine_ops\)|USING betree \(k\)/).size == 2, "migration: indexes")
schema = StringIO.new
ActiveRecord::SchemaDumper.dump(ActiveRecord::Base.connection_pool, schema)
puts schema.string
db.drop_table :items
eval(schema.string) # whose extensions, sorted by name, must be there
check(indexes == made, "schema.rb: indexes are those of before")
Item.reset_column_information
Item.insert_all((0...ROWS).map { |i| {id: i, k: key(i), r: vector(i), d: vector(i), b: data(i), v: vector(i)} })
db.execute("ANALYZE items")

def ask(index, near, exact, name)
  check(near.explain.inspect.include?("using #{index}"), "#{name}: index in use")
  found = near.map(&:neighbor_distance)
  check(found.size == 10 && found == exact.map(&:neighbor_distance), "#{name}: answer")
end

def nearest(column, far, name)
  rows = Item.select("#{far} AS neighbor_distance").limit(10)
  ask("index_items_on_#{column}", rows.order(Arel.sql(far)), rows.order(Arel.sql("(#{far}) + 0 * id")), name)
end

nearest("r", Item.sanitize_sql(["r <-> ARRAY[?]::real[]", vector(7)]), "list, real[]")
nearest("d", Item.sanitize_sql(["d <-> ARRAY[?]::float8[]", vector(7)]), "list, double precision[]")
nearest("b", "b <-> #{db.quote(ActiveModel::Type::Binary.new.serialize(data(7)))}", "binary, bytea")
near = Item.nearest_neighbors(:v, vector(7), distance: "cosine").limit(10)
ask("index_items_on_v", near, near.reorder(Arel.sql("(v <=> #{db.quote(vector(7).to_s)}) + 0 * id")), "nearest_neighbors")
near = Item.find(7).nearest_neighbors(:v, distance: "cosine").limit(10)
ask("index_items_on_v", near, near.reorder(Arel.sql("(v <=> #{db.quote(vector(7).to_s)}) + 0 * id")), "nearest_neighbors of a row")

low, high = [key(3), key(4)].sort
range = Item.where(k: low...high).order(:k)
check(range.explain.inspect.include?("index_items_on_k"), "uuid, betree: index in use")
check(range.pluck(:k) == (0...ROWS).map { |i| key(i) }.select { |k| k >= low && k < high }.sort, "uuid, betree: answer")
exit($failed ? 1 : 0)
