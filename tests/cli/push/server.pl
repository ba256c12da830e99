# server.pl FOLDER - what a server of profiles may do to who posts to it, on a
# port of its own, written to FOLDER/port. The first part of a request's path
# says what: a status to answer, "closed", "cut", "silent", or "busy", which is
# 503 with Retry-After twice and then 200. Keeps request N in FOLDER/N.head and FOLDER/N.body.
# SPDX-License-Identifier: MIT
use strict;
use warnings;
use IO::Socket::INET;

my ($folder) = @ARGV;
my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 9,
	ReuseAddr => 1) or die "no socket: $!";
my ($requests, $busy, @silent) = (0, 0);
my %answer = (
	200 => '{}',
	401 => "no \e[31mtoken\r\nsecond line",
	500 => 'broken',
	302 => '',
);

sub keep {
	my ($name, $text) = @_;
	open(my $file, '>', "$folder/$name.new") or die "$name: $!";
	print $file $text;
	close($file) or die "$name: $!";
	rename("$folder/$name.new", "$folder/$name") or die "$name: $!";
}

keep('port', $listener->sockport);
while (my $client = $listener->accept) {
	my ($head, $body) = ('', '');
	while (defined(my $line = <$client>)) {
		last if $line eq "\r\n";
		$head .= $line;
	}
	read($client, $body, $1) if $head =~ /^Content-Length: (\d+)\r/mi;
	$requests++;
	keep("$requests.body", $body);
	keep("$requests.head", $head);
	my ($what) = $head =~ m{^POST /([a-z0-9]+)/};
	if (!defined $what || $what eq 'closed') {
		close($client);
		next;
	}
	if ($what eq 'silent') {
		push @silent, $client; # never closed
		next;
	}
	my $status = $what eq 'cut' ? 200 : $what ne 'busy' ? $what : $busy++ < 2 ? 503 : 200;
	my $text = $answer{$status} // 'later';
	print $client "HTTP/1.1 $status Words\r\nContent-Length: ",
		length($text) + ($what eq 'cut'), "\r\nConnection: close\r\n",
		$what eq 'busy' ? "Retry-After: 1\r\n" : '',
		$status == 302 ? "Location: /200/ingest\r\n" : '', "\r\n", $text;
	close($client);
}
