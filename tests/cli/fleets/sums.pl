# sums.pl FILE - the sums of each kind of value over all samples of a profile
# in pprof's format, unpacked, but time in no function, and its labels; from
# the format's description.
# Prints "TYPE SUM" and "label KEY VALUE".
# SPDX-License-Identifier: MIT
use strict;
use warnings;

open(my $file, '<:raw', $ARGV[0]) or die "$ARGV[0]: $!";
my $bytes = do { local $/; <$file> };

sub varint {
	my ($from, $at) = @_;
	my ($n, $shift, $b) = (0, 0);
	do {
		$b = ord(substr($$from, $$at++, 1));
		$n |= ($b & 127) << $shift;
		$shift += 7;
	} while ($b & 128);
	return $n;
}

# [field, number or bytes], ...
sub fields {
	my ($from) = @_;
	my ($at, @all) = (0);
	while ($at < length($from)) {
		my $key = varint(\$from, \$at);
		my $value = varint(\$from, \$at);
		if (($key & 7) == 2) {
			my $size = $value;
			$value = substr($from, $at, $size);
			$at += $size;
		}
		push @all, [$key >> 3, $value];
	}
	return @all;
}

my (@types, @strings, @sums, %labels, %name);
my @all = fields($bytes);
push @strings, $_->[1] for grep { $_->[0] == 6 } @all;
for (grep { $_->[0] == 5 } @all) {
	my %function = map { @$_ } fields($_->[1]);
	$name{$function{1}} = $strings[$function{2}];
}
for (@all) {
	my ($field, $value) = @$_;
	if ($field == 1) {
		my %type = map { @$_ } fields($value);
		push @types, $strings[$type{1}];
	}
	next if $field != 2;
	my %sample = map { @$_ } fields($value);
	my $first = 0; # locations have the numbers of their functions
	next if $name{varint(\$sample{1}, \$first)} eq '[no function]';
	for (fields($value)) {
		my ($of, $text) = @$_;
		if ($of == 2) {
			my ($at, $i) = (0, 0);
			$sums[$i++] += varint(\$text, \$at)
				while $at < length($text);
		} elsif ($of == 3) {
			my %label = map { @$_ } fields($text);
			$labels{"label $strings[$label{1}] $strings[$label{2}]"} = 1
				if $label{2};
		}
	}
}
print "$types[$_] $sums[$_]\n" for 0 .. $#types;
print "$_\n" for sort keys %labels;
