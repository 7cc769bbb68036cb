import os
import spacy

print(len(spacy.blank("en")("What does an import cost?")), flush=True)
os._exit(0)
