:- initialization(main, main).

queens(Count, Queens) :-
    numlist(1, Count, Numbers), permutation_of(Numbers, [], Queens).
permutation_of([], Queens, Queens).
permutation_of(Left, Placed, Queens) :-
    select(Queen, Left, Rest), safe(Queen, 1, Placed),
    permutation_of(Rest, [Queen|Placed], Queens).
safe(_, _, []).
safe(Queen, Distance, [Other|Placed]) :-
    Queen =\= Other + Distance, Queen =\= Other - Distance,
    Next is Distance + 1, safe(Queen, Next, Placed).

main :- forall(between(0, 14, Number), solve(Number)).

solve(Number) :-
    format("begin ~w~n", [Number]), flush_output,
    get_time(Began), findall(Queens, queens(7, Queens), Found), length(Found, 40), get_time(Ended),
    Seconds is Ended - Began, format("solve ~w ~6f~n", [Number, Seconds]),
    ( Number =:= 0 -> format("first_at ~6f~n", [Ended]) ; true ), flush_output.
