# The examples of README.md work as they stand there: all blocks of SQL are run
# by psql, in the order of the page, in a new database, without an error, and each
# query prints something.  The page's tables of settings and storage parameters
# say what the server says.
use strict;
use warnings;

use EcpTest;
use File::Basename qw(dirname);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster('readme', extension => 0);
my $folder = PostgreSQL::Test::Utils::tempdir();
my $pgvector = $node->safe_psql('postgres',
	"SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'");

# The page as a script, with a line before each block.  Fewer rows and a shorter
# calibration, otherwise as it stands there.
my $readme = slurp_file(dirname(__FILE__) . '/../../README.md');
my $script = "\\set ON_ERROR_STOP 1\n";
my @blocks;
while ($readme =~ /^```sql\n(.*?)^```$/gms)
{
	my $block = $1;

	$block =~ s/\b1, 1000000\b/1, 20000/g;
	$block =~ s/ecp_calibrate\('(\w+)'\)/ecp_calibrate('$1', 16777216, 1)/g;
	push @blocks, $block;
	$script .= "\\echo == $#blocks\n";
	$script .= $block if $pgvector || $block !~ /ecp_pgvector/;
}
cmp_ok(scalar(@blocks), '>', 10, 'the page has examples');
append_to_file("$folder/readme.sql", $script);

# In one session, as somebody would type them, in a new database
my ($output, $errors) = ('', '');
IPC::Run::run(
	[
		'psql', '-X', '-q', '-P', 'pager=off', '-f', "$folder/readme.sql",
		$node->connstr('postgres')
	],
	'>',
	\$output,
	'2>',
	\$errors);
unlike($errors, qr/ERROR|FATAL|warning/, 'no example fails')
  or diag($errors);
my @outputs = split /^== \d+\n/m, $output;
shift @outputs;
is(scalar(@outputs), scalar(@blocks), 'all examples are reached');

# Each query prints rows, in lines that fit on a screen
foreach my $i (0 .. $#outputs)
{
	my ($first) = $blocks[$i] =~ /^(.*)$/m;
	my ($longest) =
	  sort { $b <=> $a } map { length } split(/\n/, $outputs[$i]), '';

	unlike($outputs[$i], qr/^\(0 rows\)$/m, "$first: there are rows");
	cmp_ok($longest, '<=', 150, "$first: can be read")
	  or diag($outputs[$i]);
}

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
