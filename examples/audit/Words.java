import java.util.*;
public class Words {
    public static void main(String[] args) {
        Random random = new Random(1);
        List<String> words = new ArrayList<>();
        for (int i = 0; i < 60000; i++) words.add(Integer.toString(random.nextInt(5000), 36));
        for (int number = 0; number < 40; number++) {
            System.out.println("begin " + number);
            long began = System.nanoTime();
            Map<String, Integer> counts = new TreeMap<>();
            for (String word : words) counts.merge(word, 1, Integer::sum);
            System.out.printf("count %d %.6f%n", number, (System.nanoTime() - began) / 1e9);
            if (number == 0) System.out.printf("first_at %.6f%n", System.currentTimeMillis() / 1e3);
            System.out.flush();
        }
    }
}
