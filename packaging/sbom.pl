#!/usr/bin/perl
#
# sbom.pl FOLDER HOME: what the archive unpacked in FOLDER consists of, as SPDX 2.3 in
# JSON, on standard output.  "make dist" calls this.
#
# The archive has no code of others: its files, each with its checksum, are one package,
# which needs a PostgreSQL server.  The same archive gives the same document.

use strict;
use warnings;

use Digest::SHA;
use File::Find;
use JSON::PP;

die "usage: $0 FOLDER HOME\n" if @ARGV != 2;
my ($folder, $home) = @ARGV;
open(my $in, '<', "$folder/META.json")
  or die "could not open $folder/META.json: $!\n";
my $meta = JSON::PP->new->decode(join '', <$in>);
close $in;
open($in, '<', "$folder/debian/changelog")
  or die "could not open $folder/debian/changelog: $!\n";
my ($when) = join('', <$in>) =~ /^ -- .*>  (.*)$/m;
close $in;
my %months;
@months{qw(Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec)} = 1 .. 12;
my ($day, $month, $year, $time) = $when =~ /(\d+) (\w{3}) (\d{4}) ([\d:]{8})/
  or die "$0: no date in debian/changelog\n";

my @files;
find({
		no_chdir => 1,
		wanted => sub { push @files, $File::Find::name if -f },
	},
	$folder);
my @described;
foreach my $file (sort @files)
{
	my $name = './' . substr($file, length($folder) + 1);

	push @described,
	  { fileName => $name,
		SPDXID => 'SPDXRef-File-' . Digest::SHA::sha1_hex($name),
		checksums => [
			map {
				{ algorithm => "SHA$_",
					checksumValue =>
					  Digest::SHA->new($_)->addfile($file)->hexdigest
				}
			} (1, 256)
		],
		licenseConcluded => 'NOASSERTION',
		copyrightText => 'NOASSERTION',
	  };
}
my $name = "$meta->{name}-$meta->{version}";
my $code = Digest::SHA::sha1_hex(
	join '', sort map { $_->{checksums}[0]{checksumValue} } @described);
my $server = 'SPDXRef-PostgreSQL';
print JSON::PP->new->canonical->pretty->encode(
	{ spdxVersion => 'SPDX-2.3',
		dataLicense => 'CC0-1.0',
		SPDXID => 'SPDXRef-DOCUMENT',
		name => $name,
		documentNamespace => "https://spdx.org/spdxdocs/$name-$code",
		creationInfo => {
			created => sprintf('%04d-%02d-%02dT%sZ',
				$year, $months{$month}, $day, $time),
			creators => ['Tool: packaging/sbom.pl'],
		},
		packages => [
			{ name => $meta->{name},
				SPDXID => 'SPDXRef-Package',
				versionInfo => $meta->{version},
				downloadLocation => $home ne '' ? "git+$home.git" : 'NOASSERTION',
				filesAnalyzed => JSON::PP::true,
				packageVerificationCode =>
				  { packageVerificationCodeValue => $code },
				licenseConcluded => 'PostgreSQL',
				licenseDeclared => 'PostgreSQL',
				copyrightText => 'NOASSERTION',
			},
			{ name => 'PostgreSQL',
				SPDXID => $server,
				versionInfo => '15 or later',
				downloadLocation => 'https://www.postgresql.org/ftp/source/',
				filesAnalyzed => JSON::PP::false,
				licenseConcluded => 'PostgreSQL',
				licenseDeclared => 'PostgreSQL',
				copyrightText => 'NOASSERTION',
			},
		],
		files => \@described,
		relationships => [
			{ spdxElementId => 'SPDXRef-DOCUMENT',
				relationshipType => 'DESCRIBES',
				relatedSpdxElement => 'SPDXRef-Package',
			},
			{ spdxElementId => 'SPDXRef-Package',
				relationshipType => 'DEPENDS_ON',
				relatedSpdxElement => $server,
			},
			map {
				{ spdxElementId => 'SPDXRef-Package',
					relationshipType => 'CONTAINS',
					relatedSpdxElement => $_->{SPDXID}
				}
			} @described
		],
	});
