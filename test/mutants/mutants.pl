# mutants.pl: plant each bug of test/mutants/list by itself, and see that the test
# named there notices it.
#
#   perl test/mutants/mutants.pl [NAME]...   those named, "NAME*" too (default: all)
#   perl test/mutants/mutants.pl --check     only whether all can be planted
#
# A mutant has failed if its test passes nevertheless, if it does not compile, and
# if the lines that it replaces are not, or more than once, in its file: then the
# list has to follow the source.  So has a test that fails without a bug, which
# would notice anything.
#
# Environment: that of test/run, which runs the tests; MUTANT_LIMIT, seconds for
# one (default: 900).  Logs: build/mutants/NAME.

use strict;
use warnings;

use Cwd;
use File::Basename;
use File::Copy;
use File::Path;
use File::Temp;

my $top = dirname(dirname(dirname(Cwd::realpath($0))));
my $limit = $ENV{MUTANT_LIMIT} || 900;
my %folders = (
	regress => [ 'sql', 'sql' ],
	isolation => [ 'test/isolation/specs', 'spec' ],
	tap => [ 'test/t', 'pl' ],
	pgtap => [ 'test/pgtap', 'sql' ],
	unit => [ 'test/unit', 'c' ]);
my ($passed, $failed, $skipped) = (0, 0, 0);

sub slurp
{
	my $file = shift;
	local $/ = undef;

	open my $handle, '<', $file or return undef;
	return <$handle>;
}

sub report
{
	my ($good, $mutant, $what) = @_;

	printf "%s %s: %s\n", $good ? 'ok    ' : 'not ok', $mutant->{name}, $what;
	$good                       ? $passed++ : $failed++;
}

# The list: see its head.
sub read_list
{
	my (@mutants, $mutant);

	foreach my $line (split /\n/, slurp("$top/test/mutants/list"))
	{
		if ($line =~ /^mutant: (\S+)$/)
		{
			push @mutants, $mutant = { name => $1, old => '', new => '' };
		}
		elsif ($line =~ /^(bug|test|file): (.+)$/ && $mutant)
		{
			$mutant->{$1} = $2;
		}
		elsif ($line =~ /^([-+ ])(.*)$/ && $mutant)
		{
			$mutant->{old} .= "$2\n" if $1 ne '+';
			$mutant->{new} .= "$2\n" if $1 ne '-';
		}
		elsif ($line ne '' && $line !~ /^#/)
		{
			die "test/mutants/list: what is this?\n$line\n";
		}
	}
	return @mutants;
}

# What keeps a mutant from being planted; undef if nothing does.
sub obstacle
{
	my ($mutant, $seen) = @_;

	return 'a second one of this name' if $seen->{ $mutant->{name} }++;
	foreach (qw(bug test file old))
	{
		return "no line \"$_\"" unless length($mutant->{$_} // '');
	}
	my ($kind, $name) = split /:/, $mutant->{test};
	my $folder = $folders{$kind};
	return "there is no test $mutant->{test}"
	  unless $folder && -e "$top/$folder->[0]/$name.$folder->[1]";
	my $text = slurp("$top/$mutant->{file}") // '';
	my $times = () = $text =~ /^\Q$mutant->{old}\E/mg;
	return undef if $times == 1;
	return "can no longer be planted: $mutant->{file} has its lines "
	  . ($times == 0 ? 'nowhere' : "$times times");
}

# Run a test in the copy of the tree: "passed", "failed", or what else became of it.
sub run_test
{
	my ($tree, $test, $logs) = @_;

	mkpath $logs;
	my $status = system("LOGS='$logs/logs' OBJECTS=1 timeout -k 60 $limit"
		  . " '$tree/test/run' '$test' >'$logs/run.log' 2>&1 </dev/null");
	my $output = slurp("$logs/run.log");
	return "took more than $limit s" if $status >> 8 == 124;
	return 'does not compile' if $output =~ /^the build failed$/m;
	return 'failed' if $output           =~ /^\d+ passed, [1-9]\d* failed/m;
	return 'passed' if $output           =~ /^[1-9]\d* passed, 0 failed/m;
	return 'was skipped' if $output      =~ /^0 passed, 0 failed/m;
	return 'could not be run';
}

my $only_check = @ARGV && $ARGV[0] eq '--check' && shift;
my @patterns = map { quotemeta($_) =~ s/\\\*/.*/gr } @ARGV;
my (%seen, %without, @mutants);

foreach my $mutant (read_list())
{
	my $name = $mutant->{name};
	next if @patterns && !grep { $name =~ /^$_$/ } @patterns;
	my $obstacle = obstacle($mutant, \%seen);
	if   ($obstacle) { report(0, $mutant, $obstacle) }
	else             { push @mutants, $mutant }
}
if ($only_check)
{
	exit($failed ? 1 : 0);
}
die "no such mutant\n" unless @mutants || $failed;

# What does not change is compiled once.
my $work = File::Temp->newdir('ecp-mutants.XXXXXX', TMPDIR => 1);
my $tree = "$work/tree";
my $logs = "$top/build/mutants";
my $config = $ENV{PG_CONFIG} || 'pg_config';
chmod 0755, $work;
rmtree $logs;
mkpath $logs;
system("bash -c '. \"$top/test/server.sh\"; copy_source \"$top\" \"$tree\"'")
  == 0
  && system(
	"unset MAKEFLAGS MAKELEVEL MFLAGS; make -s -C '$tree' PG_CONFIG='$config'"
	  . " with_llvm=no COPT=\"-DECP_DEBUG \$COPT\" WERROR=\"\$WERROR\""
	  . " -j\${JOBS:-\$(nproc)} >'$logs/build.log' 2>&1") == 0
  or die "could not build the tree: see $logs/build.log\n";

$| = 1;
$SIG{INT} = $SIG{TERM} = sub { exit 130 };
foreach my $mutant (@mutants)
{
	my ($name, $test, $file) = @{$mutant}{qw(name test file)};

	$without{$test} //= run_test($tree, $test, "$logs/" . $test =~ s/:/-/r);
	if ($without{$test} eq 'was skipped')
	{
		print "skipped $name: $test was\n";
		$skipped++;
		next;
	}
	if ($without{$test} ne 'passed')
	{
		report(0, $mutant, "$test $without{$test} without it");
		next;
	}

	my $text = slurp("$tree/$file");
	my ($start) = $text =~ /^\Q$mutant->{old}\E/m ? $-[0] : die;
	substr($text, $start, length $mutant->{old}) = $mutant->{new};
	move("$tree/$file", "$tree/$file.kept") or die "$file: $!\n";
	open my $handle, '>', "$tree/$file"     or die "$file: $!\n";
	print $handle $text;
	close $handle or die "$file: $!\n";
	my $result = run_test($tree, $test, "$logs/$name");
	move("$tree/$file.kept", "$tree/$file") or die "$file: $!\n";

	report(
		$result eq 'failed',
		$mutant,
		$result eq 'failed'   ? "noticed by $test"
		: $result eq 'passed' ? "NOT NOTICED by $test: $mutant->{bug}"
		:                       "$test $result");
}
print "logs: $logs\n" if $failed;
print "$passed passed, $failed failed"
  . ($skipped ? ", $skipped skipped" : '') . "\n";
exit($failed || !$passed ? 1 : 0);
