import os
import nltk

print(len(nltk.tokenize.wordpunct_tokenize("What does an import cost?")), flush=True)
os._exit(0)
