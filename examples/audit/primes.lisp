(defun sieve (limit)
  (let ((marks (make-array limit :element-type 'bit :initial-element 1)))
    (loop for n from 2 below limit
          when (= 1 (aref marks n))
            do (loop for m from (* n n) below limit by n do (setf (aref marks m) 0)))
    (count 1 marks)))

(defun seconds ()
  (multiple-value-bind (s us) (sb-unix::get-time-of-day) (+ s (/ us 1d6))))

(dotimes (number 20)
  (format t "begin ~d~%" number)
  (finish-output)
  (let ((began (seconds)))
    (compile 'sieve)
    (sieve 1000000)
    (format t "sieve ~d ~,6f~%" number (- (seconds) began)))
  (when (= number 0) (format t "first_at ~,6f~%" (+ 0d0 (- (seconds) 0))))
  (finish-output))
