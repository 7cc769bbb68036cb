set.seed(1)
frame <- data.frame(x = rnorm(20000), g = sample(letters, 20000, TRUE))
frame$y <- 2 * frame$x + rnorm(20000)
for (number in 0:19) {
  cat(sprintf("begin %d\n", number)); flush(stdout())
  t0 <- Sys.time()
  fit <- lm(y ~ x + g, data = frame)
  cat(sprintf("fit %d %.6f\n", number, as.numeric(difftime(Sys.time(), t0, units = "secs"))))
  if (number == 0) cat(sprintf("first_at %.6f\n", as.numeric(Sys.time())))
}
