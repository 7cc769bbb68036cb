# Twenty plots; gnuplot prints to standard error.
set terminal svg
set output "/dev/null"
do for [number = 0:19] {
  print sprintf("begin %d", number)
  began = time(0.0)
  plot for [k = 1:40] sin(k * x + number) with lines
  print sprintf("plot %d %.6f", number, time(0.0) - began)
}
