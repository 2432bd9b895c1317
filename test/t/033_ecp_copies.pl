# Rows that have near copies, and queries that have none: descriptors of photographs,
# each twenty times with noise, and descriptors of other photographs.  Such queries
# are as near to leaders as rows are, and only the rows they meet first tell that
# they are not like these; declared recall is theirs, too, or nearly.
use strict;
use warnings;

use EcpTest;
use Test::More;

my $node = ecp_cluster('copies', conf => "fsync = off\nautovacuum = off\n");

load_vecs($node, 'photos', 'base.bvecs', limit => 5_000);
load_vecs($node, 'queries', 'query.bvecs', limit => 100);

# Copies are about as far from each other as near neighbours are.  The sum of four
# random bytes has nearly a normal distribution; the numbers are those of each run.
$node->safe_psql(
	'postgres', q(
	CREATE FUNCTION copy_of(v bytea, seed int) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
	DECLARE
		noise bytea := sha512(v || int4send(seed));
	BEGIN
		FOR block IN 1 .. 7 LOOP
			noise := noise || sha512(v || int4send(seed + 1000 * block));
		END LOOP;
		FOR i IN 0 .. 127 LOOP
			v := set_byte(v, i, greatest(0, least(255, get_byte(v, i) +
				(get_byte(noise, 4 * i) + get_byte(noise, 4 * i + 1) +
				 get_byte(noise, 4 * i + 2) + get_byte(noise, 4 * i + 3) - 510) / 9)));
		END LOOP;
		RETURN v;
	END $$;
	CREATE TABLE items AS SELECT row_number() OVER () AS id,
		CASE n WHEN 0 THEN v ELSE copy_of(v, n) END AS v
		FROM photos, generate_series(0, 19) n;
	CREATE INDEX items_v ON items USING ecp (v);));

# mean recall of ten rows, and clusters read, of these queries
sub found
{
	my ($target, $queries) = @_;
	my ($recall, $clusters) = split /\|/, $node->safe_psql(
		'postgres', qq(
		SET ecp.target_recall = $target;
		SELECT recall, clusters FROM ecp_recall('items_v', probes => ARRAY[0],
			samples => 500, queries => '$queries')));

	note("target $target: recall $recall, $clusters clusters");
	return ($recall, $clusters);
}

# The copies of one row are twice as many as ten.  A hundred queries are other
# photographs, so that their mean varies by 0.02; rows are 500.
foreach my $target (0.8, 0.9, 0.95)
{
	my ($recall, $clusters) =
	  found($target, 'SELECT v FROM queries ORDER BY id');

	cmp_ok($recall, '>=', $target - 0.1, "other photographs, $target");
	($recall) = found($target, 'SELECT v FROM photos WHERE id % 10 = 0');
	cmp_ok($recall, '>=', $target - 0.03, "rows, $target");
}

# and none reads all because no row is as near as a copy would be
my (undef, $clusters) = found(0.95, 'SELECT v FROM queries ORDER BY id');
cmp_ok(
	$clusters,
	'<',
	$node->safe_psql(
		'postgres', q(SELECT clusters / 3 FROM ecp_index_stats('items_v'))),
	'other photographs read less than a third');

done_testing();
