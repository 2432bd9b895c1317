# The examples of README.md and of the pages in doc work as they stand there: all
# blocks of SQL of a page are run by psql, in the order of the page, on a new
# server, without an error, and each query prints something; then those of Python
# that import what they use.  The tables of settings and storage parameters say what
# the server says.
use strict;
use warnings;

use EcpTest;
use File::Basename qw(dirname);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = dirname(__FILE__) . '/../..';
my $folder = PostgreSQL::Test::Utils::tempdir();
my $blocks = 0;
my ($python) = grep { !system("$_ -c 'import numpy, psycopg' 2>/dev/null") }
  ('python3', '/usr/bin/python3');

run_page($_) foreach "$root/README.md", sort glob("$root/doc/*.md");
cmp_ok($blocks, '>', 30, 'the pages have examples');

my $node = ecp_cluster('reference');
my $reference = slurp_file("$root/doc/reference.md");

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
	like($reference, qr/^\Q$row\E/m, $row);
}

# Storage parameters: all values are taken, no other is
$node->safe_psql('postgres', 'CREATE TABLE empty (v real[], k int)');
my $tables = 0;
foreach my $kind ([ 'ecp', 'v' ], [ 'betree', 'k' ])
{
	my ($am, $column) = @$kind;
	my ($table) =
	  $reference =~ /^Storage parameters of `$am`.*?\n\n(.*?)\n\n/ms;

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

$node->stop;

done_testing();

# Run the examples of a page in one session, as somebody would type them.  Fewer
# rows and a shorter calibration, otherwise as they stand there.
sub run_page
{
	my ($path) = @_;
	my ($page) = $path =~ m{([^/]+)\.md$};
	my $script = "\\set ON_ERROR_STOP 1\n";
	my ($output, $errors) = ('', '');
	my @examples = slurp_file($path) =~ /^```sql\n(.*?)^```$/gms;

	return unless @examples;
	my $server = ecp_cluster(lc $page, extension => 0);
	my $pgvector = has_pgvector($server);

	foreach my $i (0 .. $#examples)
	{
		my $block = $examples[$i];

		$block =~ s/\b1, 1000000\b/1, 20000/g;
		$block =~
		  s/ecp_calibrate\('(\w+)'\)/ecp_calibrate('$1', 16777216, 1)/g;
		$script .= "\\echo == $i\n";
		$script .= $block if $pgvector || !needs_pgvector($block);
	}
	append_to_file("$folder/$page.sql", $script);
	IPC::Run::run(
		[
			'psql', '-X', '-q', '-P', 'pager=off', '-f', "$folder/$page.sql",
			$server->connstr('postgres')
		],
		'>',
		\$output,
		'2>',
		\$errors);
	unlike($errors, qr/ERROR|FATAL|warning/, "$page: no example fails")
	  or diag($errors);
	my @outputs = split /^== \d+\n/m, $output, -1;
	shift @outputs;
	is(scalar(@outputs), scalar(@examples), "$page: all are reached");
	foreach my $i (0 .. $#outputs)
	{
		can_be_read($page, $examples[$i], $outputs[$i]);
	}
	run_python($page, $server, $_)
	  foreach slurp_file($path) =~ /^```python\n(import .*?)^```$/gms;
	foreach my $index (
		split /\n/,
		$server->safe_psql(
			'postgres', q(
			SELECT c.oid::regclass FROM pg_class c JOIN pg_am a ON a.oid = relam
			WHERE amname IN ('ecp', 'betree') AND relkind = 'i' ORDER BY 1)))
	{
		index_ok($server, $index);
	}
	$server->stop;
	$blocks += @examples;
}

# Run an example of Python, which connects to "mydb" and prints what it has found.
sub run_python
{
	my ($page, $server, $example) = @_;
	my ($output, $errors) = ('', '');

  SKIP:
	{
		skip 'no python3 with psycopg and numpy', 2 unless $python;
		$example =~ s/dbname=mydb/$server->connstr('postgres')/e
		  or BAIL_OUT("$page: an example of Python connects to nothing");
		IPC::Run::run([ $python, '-' ],
			'<', \$example, '>', \$output, '2>', \$errors);
		is($errors, '', "$page: the example of Python does not fail");
		like($output, qr/^\[\(\d+, /, "$page: it finds rows");
	}
}

# Does an example use columns of pgvector?
sub needs_pgvector
{
	my ($block) = @_;

	return $block =~ /ecp_pgvector|\bembedding\b|::(?:vector|halfvec)\b/;
}

# Each query prints rows, in lines that fit on a screen.
sub can_be_read
{
	my ($page, $block, $text) = @_;
	my ($first) = $block =~ /^(.*)$/m;
	my ($longest) =
	  sort { $b <=> $a } map { length } split(/\n/, $text), '';

	unlike($text, qr/^\(0 rows\)$/m, "$page: $first: there are rows");
	cmp_ok($longest, '<=', 150, "$page: $first: can be read")
	  or diag($text);
}
