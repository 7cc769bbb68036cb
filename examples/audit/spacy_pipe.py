import time
import spacy

nlp = spacy.blank("en")
nlp.add_pipe("sentencizer")
ruler = nlp.add_pipe("entity_ruler")
ruler.add_patterns([{"label": "FIELD", "pattern": [{"LOWER": "cold"}, {"LOWER": "start"}]}])
text = "The cold start of a program is the time before its first result. It isn't small; it's measured. " * 60
for number in range(30):
    began = time.perf_counter()
    doc = nlp(text)
    entities = len(doc.ents)
    print(f"document {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
