# Whatever removes entries of dead rows says first, in WAL, up to which transaction
# a snapshot of a standby may still need them: a purge of a leaf, of a tail, and of
# the versions that a check of a unique key has met.
# 021_betree_standby.pl has a standby wait for such a snapshot.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster('main', conf => "fsync = off\n");

foreach my $case (
	[ 'a leaf', 'INDEX', 'log_pages = 0, deduplicate_items = off' ],
	[ 'a tail', 'INDEX', 'log_pages = 20' ],
	[ 'a unique key', 'UNIQUE INDEX', 'log_pages = 20' ])
{
	my ($what, $kind, $options) = @$case;

	# Every update is a new version with an entry in both indexes.  They are on one
	# page of the table, which is not pruned, and fill one of the index.
	$node->safe_psql(
		'postgres', qq(
		CREATE TABLE h (id int, n int) WITH (autovacuum_enabled = off);
		INSERT INTO h SELECT g, 0 FROM generate_series(1, 50) g;
		CREATE $kind h_id ON h USING betree (rpad(id::text, 200, 'x')) WITH ($options);
		CREATE INDEX h_n ON h (n)));
	my ($start, $xid, $file) = split /\|/,
	  $node->safe_psql('postgres',
			"SELECT pg_current_wal_insert_lsn(), pg_current_xact_id(),"
		  . " pg_relation_filenode('h_id')");
	my ($end, $entries) = split /\|/, $node->safe_psql(
		'postgres', qq(
		DO \$\$ BEGIN FOR i IN 1..60 LOOP UPDATE h SET n = i WHERE id = 7; COMMIT; END LOOP; END \$\$;
		SELECT pg_switch_wal(), (SELECT sum(items)
			FROM generate_series(1, pg_relation_size('h_id') / 8192 - 1) b,
				betree_node_info('h_id', b) WHERE kind IN ('leaf', 'log'))));
	cmp_ok($entries, '<', 80, "$what: dead versions have left the index");

	my ($records, $errors);
	IPC::Run::run [
		'pg_waldump', '-r', 'Gist', '-p', $node->data_dir . '/pg_wal',
		'-s', $start, '-e', $end
	  ],
	  '>', \$records, '2>', \$errors;
	my @horizons =
	  $records =~ /PAGE_REUSE rel \d+\/\d+\/$file.*?(?:Xid|Horizon) 0:(\d+)/g;
	cmp_ok(scalar(@horizons), '>', 0, "$what: a record of its horizon")
	  or diag($records, $errors);
	is(scalar(grep { $_ < $xid || $_ > $xid + 60 } @horizons),
		0, "$what: of the transactions that made them dead");
	index_ok($node, 'h_id');
	$node->safe_psql('postgres', 'DROP TABLE h');
}

$node->stop;
done_testing();
