use strict;
use warnings;
use Time::HiRes qw(time);
use POSIX ();
use List::Util qw(sum);
$| = 1;
srand(1);
my @words = map { join "", map { chr 97 + rand 6 } 1 .. 4 } 1 .. 60000;
for my $number (0 .. 29) {
    print "begin $number\n";
    my $began = time;
    my %counts;
    $counts{$_}++ for @words;
    my @sorted = sort { $counts{$b} <=> $counts{$a} || $a cmp $b } keys %counts;
    printf "count %d %.6f\n", $number, time - $began;
    printf "first_at %.6f\n", time if $number == 0;
}
