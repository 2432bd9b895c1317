# The examples of README.md work as they stand there: each block of SQL is run
# in the order of the page, statement by statement, without an error.  Its
# tables of settings and storage parameters say what the server says.
use strict;
use warnings;

use EcpTest;
use File::Basename qw(dirname);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster('readme', extension => 0);
my $folder = PostgreSQL::Test::Utils::tempdir();

# what the page takes for granted
mkdir "$folder/fast" or die "could not make a folder: $!\n";
$node->safe_psql('postgres',
	"CREATE TABLESPACE fast LOCATION '$folder/fast'");

# the examples of batches: vectors as long as those of the items, photographs
$node->safe_psql(
	'postgres', q(
	CREATE TABLE queries AS
	SELECT g AS id, ARRAY[g / 9.0, 0.5, 0.5, 0.5]::real[] AS v
	FROM generate_series(1, 120) g;
	CREATE TABLE descriptors AS
	SELECT g / 100 AS photo, ARRAY[g / 100, g % 10, g % 7]::real[] AS v
	FROM generate_series(0, 1999) g;
	CREATE TABLE photograph AS SELECT v FROM descriptors WHERE photo = 7;));

my $readme = slurp_file(dirname(__FILE__) . '/../../README.md');
my $number = 0;
while ($readme =~ /^```sql\n(.*?)^```$/gms)
{
	my $block = $1;

	# smaller and faster, otherwise the same
	$block =~ s/\b1, 1000000\b/1, 20000/g;
	$block =~ s/\b1, 100000\b/1, 20000/g;
	$block =~ s/ecp_calibrate\('fast'\)/ecp_calibrate('fast', 16777216, 1)/g;
	$node->safe_psql('postgres',
		'CREATE INDEX descriptors_v ON descriptors USING ecp (v)')
	  if $block =~ /'descriptors_v'/;
	$number++;
	my $path = "$folder/block_$number.sql";
	append_to_file($path, $block);
	$node->command_ok(
		[
			'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-f', $path,
			$node->connstr('postgres')
		],
		"block $number: " . substr($block, 0, index($block, "\n")));
}
cmp_ok($number, '>', 5, 'the page has examples');

# Settings, as in the tables: default and values
my @settings = split /\n/, $node->safe_psql(
	'postgres', q(
	LOAD 'ecp';
	SELECT format('| `%s` | %s | %s |', name,
		coalesce('`' || nullif(current_setting(name), '') || '`', '(empty)'),
		CASE WHEN vartype = 'bool' THEN '`on`, `off`'
			WHEN vartype = 'enum' THEN '`' || array_to_string(enumvals, '`, `') || '`'
			WHEN vartype = 'string' THEN 'a list of names'
			WHEN unit = 'kB' THEN format('`%s` to `%sGB`', min_val, max_val::int / 1048576)
			ELSE format('`%s` to `%s`', min_val, max_val) END)
	FROM pg_settings
	WHERE name ~ '^(ecp|betree)\\.(?!debug)' ORDER BY name));
cmp_ok(scalar(@settings), '>', 5, 'there are settings');
foreach my $row (@settings)
{
	like($readme, qr/^\Q$row\E/m, $row);
}

# Storage parameters: all values are taken, no other is
$node->safe_psql('postgres', 'CREATE TABLE empty (v bytea, k int)');
my $tables = 0;
foreach my $kind ([ 'ecp', 'v' ], [ 'betree', 'k' ])
{
	my ($am, $column) = @$kind;
	my ($table) = $readme =~ /^Storage parameters of `$am`.*?\n\n(.*?)\n\n/ms;

	while ($table =~ /^\| `(\w+)` \| `([^`]*)` \| (.*?) \|/gm)
	{
		my ($name, $default, $values) = ($1, $2, $3);
		my @good = ($default, $values =~ /`([^`]*)`/g);
		my @bad =
		  $values =~ /`(\S+)` to `(\S+)`/
		  ? ($1 - 1, $2 + 1)
		  : ('something');

		foreach my $value (@good, @bad)
		{
			my ($ret, undef, $stderr) = $node->psql('postgres',
				"BEGIN; CREATE INDEX ON empty USING $am ($column) WITH ($name = $value); ROLLBACK"
			);
			if (grep { $_ eq $value } @good)
			{
				is($stderr, '', "$am: $name = $value");
			}
			else
			{
				like(
					$stderr,
					qr/out of bounds|invalid value/,
					"$am: not $name = $value");
			}
		}
		$tables++;
	}
}
cmp_ok($tables, '>', 10, 'there are storage parameters');

index_ok($node, 'items_v');
index_ok($node, 'events_device');
$node->stop;

done_testing();
