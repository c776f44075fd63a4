import importlib, sys, time, collections
from tests.attack.board import CLAIMS
from tests.attack.refute import judged
from tests.attack.checking import said
for name in sys.argv[1:]:
    importlib.import_module(f"tests.attack.{name}")
tally = collections.Counter(); slow=[]
for one in CLAIMS:
    t0=time.process_time()
    try:
        th = one.theorem()
    except (ValueError, TypeError) as e:
        print("MADE", one.label, "!!" if not one.made else "", e); continue
    v = judged(th, one.formula, undefined=one.undefined)
    t1=time.process_time()
    bad = not (v.violated or one.undefined and v.undefined)
    if bad: print("NOTREFUTED", one.label, v.met, v.problems, v.undefined[:100])
    w = said(th, one.formula, 10)
    t2=time.process_time()
    tally[w.verdict]+=1
    if w.verdict!="refused": print(w.verdict.upper(), one.label, "|", w.words[:150])
    slow.append((t1-t0,t2-t1,one.label))
print(tally, sum(s[0] for s in slow), sum(s[1] for s in slow))
for s in sorted(slow,key=lambda s:-s[0]-s[1])[:6]: print(s)
