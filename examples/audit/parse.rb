require "json"
require "set"
$stdout.sync = true
text = JSON.generate((0...4000).map { |i| { "id" => i, "name" => "n#{i}", "tags" => [i % 7, i % 11] } })
30.times do |number|
  puts "begin #{number}"
  began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  rows = JSON.parse(text)
  tags = rows.flat_map { |row| row["tags"] }.to_set
  raise unless tags.size == 11
  printf("parse %d %.6f\n", number, Process.clock_gettime(Process::CLOCK_MONOTONIC) - began)
  printf("first_at %.6f\n", Time.now.to_f) if number == 0
end
