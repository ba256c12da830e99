# server.pl FOLDER - what a server of profiles may do to who posts to it, on a
# port of its own, written to FOLDER/port. The first part of a request's path
# says what: a status to answer, "closed" or "cut". Keeps request N in
# FOLDER/N.head and FOLDER/N.body.
# SPDX-License-Identifier: MIT
use strict;
use warnings;
use IO::Socket::INET;

my ($folder) = @ARGV;
my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 9,
	ReuseAddr => 1) or die "no socket: $!";
my $requests = 0;
my %answer = (
	200 => '{}',
	401 => 'no token',
	500 => 'broken',
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
	my $status = $what eq 'cut' ? 200 : $what;
	my $text = $answer{$status} // 'later';
	print $client "HTTP/1.1 $status Words\r\nContent-Length: ",
		length($text) + ($what eq 'cut'), "\r\nConnection: close\r\n",
		"\r\n", $text;
	close($client);
}
