x = linspace(0, 1, 20000)';
for number = 0:19
  printf("begin %d\n", number); fflush(stdout);
  began = tic;
  A = [ones(size(x)), x, x .^ 2, x .^ 3, sin(5 * x)];
  c = A \ (3 * x + rand(size(x)));
  s = svd(A);
  taken = toc(began);
  printf("fit %d %.6f\n", number, taken); fflush(stdout);
  if (number == 0)
    printf("first_at %.6f\n", time()); fflush(stdout);
  endif
endfor
