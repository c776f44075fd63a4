"""The bibliography: every work that a statement is taken from, once. Statements cite by key; pages link from here."""

from __future__ import annotations

from difflib import get_close_matches

from spec.language.formula import Reference, Source

DECKS = (
    Reference(
        "S0",
        "Mohammad Taher Pilehvar",
        "Transformers and BERT",
        link="https://teias-courses.github.io/ml01/",
        about="lecture slides, Machine Learning 1401",
    ),
    Reference(
        "S1",
        "Andrej Risteski",
        "The characters of modern NLP – transformers, ELMo and BERT",
        about="lecture 21 of 10707, Deep Learning, spring 2020",
    ),
    Reference(
        "S2",
        "Sungroh Yoon",
        "Attention and Transformer",
        about="lecture 12 of Deep Learning, Seoul National University, 2020",
    ),
    Reference(
        "S3",
        "Kirill Vlasov",
        "Self-Attention, Transformers, ELMo, BERT",
        about="lecture 2 of a machine learning course, in Russian",
    ),
    Reference(
        "S4",
        "anonymous",
        "Attention, Transformer, pre-training and fine-tuning",
        about="lecture slides; they begin with “After this lecture, you’ll …” and name no author",
    ),
)
"""Five lecture decks on attention, Transformers and BERT: what is stated here is what they teach."""

PAPERS = (
    Reference("ba2016", "Ba, Kiros & Hinton", "Layer Normalization", 2016, "arXiv:1607.06450"),
    Reference(
        "bahdanau2015",
        "Bahdanau, Cho & Bengio",
        "Neural Machine Translation by Jointly Learning to Align and Translate",
        2015,
        "arXiv:1409.0473",
    ),
    Reference(
        "blanchard2021",
        "Blanchard, Higham & Higham",
        "Accurately computing the log-sum-exp and softmax functions",
        2021,
        "10.1093/imanum/draa038",
    ),
    Reference(
        "bengio2003",
        "Bengio, Ducharme, Vincent & Jauvin",
        "A Neural Probabilistic Language Model",
        2003,
        "https://www.jmlr.org/papers/v3/bengio03a.html",
    ),
    Reference(
        "brown2020",
        "Brown et al.",
        "Language Models are Few-Shot Learners",
        2020,
        "arXiv:2005.14165",
        "GPT-3",
    ),
    Reference(
        "cho2014",
        "Cho et al.",
        "Learning Phrase Representations using RNN Encoder–Decoder for Statistical Machine Translation",
        2014,
        "arXiv:1406.1078",
    ),
    Reference(
        "chung2014",
        "Chung, Gulcehre, Cho & Bengio",
        "Empirical Evaluation of Gated Recurrent Neural Networks on Sequence Modeling",
        2014,
        "arXiv:1412.3555",
    ),
    Reference(
        "dai2019",
        "Dai, Yang, Yang, Carbonell, Le & Salakhutdinov",
        "Transformer-XL: Attentive Language Models beyond a Fixed-Length Context",
        2019,
        "arXiv:1901.02860",
        "Transformer-XL",
    ),
    Reference(
        "devlin2019",
        "Devlin, Chang, Lee & Toutanova",
        "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
        2019,
        "arXiv:1810.04805",
    ),
    Reference(
        "dosovitskiy2021",
        "Dosovitskiy et al.",
        "An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale",
        2021,
        "arXiv:2010.11929",
    ),
    Reference("elman1990", "Elman", "Finding Structure in Time", 1990, "10.1207/s15516709cog1402_1"),
    Reference(
        "gehring2017",
        "Gehring, Auli, Grangier, Yarats & Dauphin",
        "Convolutional Sequence to Sequence Learning",
        2017,
        "arXiv:1705.03122",
    ),
    Reference(
        "gers2000",
        "Gers, Schmidhuber & Cummins",
        "Learning to Forget: Continual Prediction with LSTM",
        2000,
        "10.1162/089976600300015015",
    ),
    Reference(
        "graves2005",
        "Graves & Schmidhuber",
        "Framewise phoneme classification with bidirectional LSTM and other neural network architectures",
        2005,
        "10.1016/j.neunet.2005.06.042",
    ),
    Reference(
        "graves2013",
        "Graves, Mohamed & Hinton",
        "Speech Recognition with Deep Recurrent Neural Networks",
        2013,
        "arXiv:1303.5778",
    ),
    Reference(
        "google2019",
        "Google Research",
        "BERT: new models, whole word masking",
        2019,
        "https://github.com/google-research/bert",
        "the README of 31 May 2019, and the code that it describes",
    ),
    Reference("graves2014", "Graves, Wayne & Danihelka", "Neural Turing Machines", 2014, "arXiv:1410.5401"),
    Reference(
        "he2016",
        "He, Zhang, Ren & Sun",
        "Deep Residual Learning for Image Recognition",
        2016,
        "arXiv:1512.03385",
    ),
    Reference(
        "hendrycks2016",
        "Hendrycks & Gimpel",
        "Gaussian Error Linear Units (GELUs)",
        2016,
        "arXiv:1606.08415",
    ),
    Reference(
        "hinton2015",
        "Hinton, Vinyals & Dean",
        "Distilling the Knowledge in a Neural Network",
        2015,
        "arXiv:1503.02531",
    ),
    Reference(
        "hochreiter1997",
        "Hochreiter & Schmidhuber",
        "Long Short-Term Memory",
        1997,
        "10.1162/neco.1997.9.8.1735",
    ),
    Reference(
        "jumper2021",
        "Jumper et al.",
        "Highly accurate protein structure prediction with AlphaFold",
        2021,
        "10.1038/s41586-021-03819-2",
    ),
    Reference(
        "karim2019",
        "Karim",
        "Illustrated: Self-Attention",
        2019,
        "https://towardsdatascience.com/illustrated-self-attention-2d627e33b20a",
        about="an article; its three tokens are worked out in deck S0",
    ),
    Reference(
        "luong2015",
        "Luong, Pham & Manning",
        "Effective Approaches to Attention-based Neural Machine Translation",
        2015,
        "arXiv:1508.04025",
    ),
    Reference(
        "pascanu2013",
        "Pascanu, Mikolov & Bengio",
        "On the difficulty of training recurrent neural networks",
        2013,
        "arXiv:1211.5063",
    ),
    Reference(
        "peters2018", "Peters et al.", "Deep contextualized word representations", 2018, "arXiv:1802.05365"
    ),
    Reference(
        "radford2018",
        "Radford, Narasimhan, Salimans & Sutskever",
        "Improving Language Understanding by Generative Pre-Training",
        2018,
        "https://cdn.openai.com/research-covers/language-unsupervised/language_understanding_paper.pdf",
        "GPT-1",
    ),
    Reference(
        "radford2019",
        "Radford et al.",
        "Language Models are Unsupervised Multitask Learners",
        2019,
        "https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf",
        "GPT-2",
    ),
    Reference(
        "sanh2019",
        "Sanh, Debut, Chaumond & Wolf",
        "DistilBERT, a distilled version of BERT: smaller, faster, cheaper and lighter",
        2019,
        "arXiv:1910.01108",
    ),
    Reference(
        "schuster1997",
        "Schuster & Paliwal",
        "Bidirectional recurrent neural networks",
        1997,
        "10.1109/78.650093",
    ),
    Reference(
        "sennrich2016",
        "Sennrich, Haddow & Birch",
        "Neural Machine Translation of Rare Words with Subword Units",
        2016,
        "arXiv:1508.07909",
    ),
    Reference(
        "shaw2018",
        "Shaw, Uszkoreit & Vaswani",
        "Self-Attention with Relative Position Representations",
        2018,
        "arXiv:1803.02155",
    ),
    Reference(
        "szegedy2016",
        "Szegedy, Vanhoucke, Ioffe, Shlens & Wojna",
        "Rethinking the Inception Architecture for Computer Vision",
        2016,
        "arXiv:1512.00567",
    ),
    Reference("vaswani2017", "Vaswani et al.", "Attention Is All You Need", 2017, "arXiv:1706.03762"),
    Reference(
        "williams1992",
        "Williams",
        "Simple statistical gradient-following algorithms for connectionist reinforcement learning",
        1992,
        "10.1007/BF00992696",
    ),
    Reference(
        "xu2015",
        "Xu et al.",
        "Show, Attend and Tell: Neural Image Caption Generation with Visual Attention",
        2015,
        "arXiv:1502.03044",
    ),
    Reference(
        "wu2016",
        "Wu et al.",
        "Google's Neural Machine Translation System: Bridging the Gap between Human and Machine Translation",
        2016,
        "arXiv:1609.08144",
    ),
    Reference(
        "fan2018", "Fan, Lewis & Dauphin", "Hierarchical Neural Story Generation", 2018, "arXiv:1805.04833"
    ),
    Reference(
        "holtzman2020",
        "Holtzman et al.",
        "The Curious Case of Neural Text Degeneration",
        2020,
        "arXiv:1904.09751",
    ),
    Reference(
        "gemma2024",
        "Gemma Team",
        "Gemma: Open Models Based on Gemini Research and Technology",
        2024,
        "arXiv:2403.08295",
    ),
    Reference(
        "xiong2020",
        "Xiong et al.",
        "On Layer Normalization in the Transformer Architecture",
        2020,
        "arXiv:2002.04745",
    ),
    Reference(
        "yang2019",
        "Yang, Dai, Yang, Carbonell, Salakhutdinov & Le",
        "XLNet: Generalized Autoregressive Pretraining for Language Understanding",
        2019,
        "arXiv:1906.08237",
        "XLNet",
    ),
    Reference(
        "zhang2019", "Zhang & Sennrich", "Root Mean Square Layer Normalization", 2019, "arXiv:1910.07467"
    ),
    Reference(
        "kaplan2020", "Kaplan et al.", "Scaling Laws for Neural Language Models", 2020, "arXiv:2001.08361"
    ),
    Reference(
        "hoffmann2022",
        "Hoffmann et al.",
        "Training Compute-Optimal Large Language Models",
        2022,
        "arXiv:2203.15556",
    ),
    Reference(
        "lewis2020",
        "Lewis et al.",
        "BART: Denoising Sequence-to-Sequence Pre-training for Natural Language Generation, Translation, and Comprehension",
        2020,
        "arXiv:1910.13461",
    ),
    Reference(
        "li2018", "Li et al.", "Visualizing the Loss Landscape of Neural Nets", 2018, "arXiv:1712.09913"
    ),
    Reference(
        "child2019",
        "Child, Gray, Radford & Sutskever",
        "Generating Long Sequences with Sparse Transformers",
        2019,
        "arXiv:1904.10509",
    ),
    Reference(
        "beltagy2020",
        "Beltagy, Peters & Cohan",
        "Longformer: The Long-Document Transformer",
        2020,
        "arXiv:2004.05150",
    ),
    Reference(
        "dauphin2017",
        "Dauphin, Fan, Auli & Grangier",
        "Language Modeling with Gated Convolutional Networks",
        2017,
        "arXiv:1612.08083",
    ),
    Reference(
        "elfwing2018",
        "Elfwing, Uchibe & Doya",
        "Sigmoid-Weighted Linear Units for Neural Network Function Approximation in Reinforcement Learning",
        2018,
        "arXiv:1702.03118",
    ),
    Reference(
        "nair2010",
        "Nair & Hinton",
        "Rectified Linear Units Improve Restricted Boltzmann Machines",
        2010,
        "https://icml.cc/Conferences/2010/papers/432.pdf",
    ),
    Reference(
        "ramachandran2017",
        "Ramachandran, Zoph & Le",
        "Searching for Activation Functions",
        2017,
        "arXiv:1710.05941",
    ),
    Reference("shazeer2020", "Shazeer", "GLU Variants Improve Transformer", 2020, "arXiv:2002.05202"),
    Reference(
        "shazeer2017",
        "Shazeer et al.",
        "Outrageously Large Neural Networks: The Sparsely-Gated Mixture-of-Experts Layer",
        2017,
        "arXiv:1701.06538",
    ),
    Reference(
        "lepikhin2020",
        "Lepikhin et al.",
        "GShard: Scaling Giant Models with Conditional Computation and Automatic Sharding",
        2020,
        "arXiv:2006.16668",
    ),
    Reference(
        "fedus2021",
        "Fedus et al.",
        "Switch Transformers: Scaling to Trillion Parameter Models with Simple and Efficient Sparsity",
        2021,
        "arXiv:2101.03961",
    ),
    Reference("jiang2024", "Jiang et al.", "Mixtral of Experts", 2024, "arXiv:2401.04088"),
    Reference(
        "loshchilov2019",
        "Loshchilov & Hutter",
        "Decoupled Weight Decay Regularization",
        2019,
        "arXiv:1711.05101",
    ),
    Reference(
        "kingma2015", "Kingma & Ba", "Adam: A Method for Stochastic Optimization", 2015, "arXiv:1412.6980"
    ),
    Reference(
        "touvron2023",
        "Touvron et al.",
        "LLaMA: Open and Efficient Foundation Language Models",
        2023,
        "arXiv:2302.13971",
    ),
    Reference(
        "touvron2023b",
        "Touvron et al.",
        "Llama 2: Open Foundation and Fine-Tuned Chat Models",
        2023,
        "arXiv:2307.09288",
    ),
    Reference(
        "grattafiori2024", "Grattafiori et al.", "The Llama 3 Herd of Models", 2024, "arXiv:2407.21783"
    ),
    Reference(
        "su2021",
        "Su, Lu, Pan, Murtadha, Wen & Liu",
        "RoFormer: Enhanced Transformer with Rotary Position Embedding",
        2021,
        "arXiv:2104.09864",
    ),
    Reference(
        "black2022",
        "Black et al.",
        "GPT-NeoX-20B: An Open-Source Autoregressive Language Model",
        2022,
        "arXiv:2204.06745",
    ),
    Reference(
        "peng2023",
        "Peng, Quesnelle, Fan & Shippole",
        "YaRN: Efficient Context Window Extension of Large Language Models",
        2023,
        "arXiv:2309.00071",
    ),
    Reference(
        "chen2023",
        "Chen, Wong, Chen & Tian",
        "Extending Context Window of Large Language Models via Positional Interpolation",
        2023,
        "arXiv:2306.15595",
    ),
    Reference(
        "shazeer2019",
        "Shazeer",
        "Fast Transformer Decoding: One Write-Head is All You Need",
        2019,
        "arXiv:1911.02150",
    ),
    Reference(
        "ainslie2023",
        "Ainslie, Lee-Thorp, de Jong, Zemlyanskiy, Lebrón & Sanghai",
        "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints",
        2023,
        "arXiv:2305.13245",
    ),
    Reference(
        "milakov2018",
        "Milakov & Gimelshein",
        "Online normalizer calculation for softmax",
        2018,
        "arXiv:1805.02867",
    ),
    Reference(
        "dao2022",
        "Dao, Fu, Ermon, Rudra & Ré",
        "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness",
        2022,
        "arXiv:2205.14135",
    ),
    Reference(
        "liu2023",
        "Liu, Zaharia & Abbeel",
        "Ring Attention with Blockwise Transformers for Near-Infinite Context",
        2023,
        "arXiv:2310.01889",
    ),
    Reference(
        "kwon2023",
        "Kwon et al.",
        "Efficient Memory Management for Large Language Model Serving with PagedAttention",
        2023,
        "arXiv:2309.06180",
    ),
    Reference(
        "pope2022",
        "Pope et al.",
        "Efficiently Scaling Transformer Inference",
        2022,
        "arXiv:2211.05102",
    ),
    Reference(
        "xiao2023",
        "Xiao, Tian, Chen, Han & Lewis",
        "Efficient Streaming Language Models with Attention Sinks",
        2023,
        "arXiv:2309.17453",
    ),
    Reference(
        "gemma2024b",
        "Gemma Team",
        "Gemma 2: Improving Open Language Models at a Practical Size",
        2024,
        "arXiv:2408.00118",
    ),
    Reference(
        "henry2020",
        "Henry, Dachapally, Pawar & Chen",
        "Query-Key Normalization for Transformers",
        2020,
        "arXiv:2010.04245",
    ),
    Reference(
        "dehghani2023",
        "Dehghani et al.",
        "Scaling Vision Transformers to 22 Billion Parameters",
        2023,
        "arXiv:2302.05442",
    ),
    Reference("qwen2025", "Qwen Team", "Qwen3 Technical Report", 2025, "arXiv:2505.09388"),
    Reference("gemma2025", "Gemma Team", "Gemma 3 Technical Report", 2025, "arXiv:2503.19786"),
    Reference("openai2025", "OpenAI", "gpt-oss-120b & gpt-oss-20b Model Card", 2025, "arXiv:2508.10925"),
    Reference("jiang2023", "Jiang et al.", "Mistral 7B", 2023, "arXiv:2310.06825"),
    Reference(
        "wang2020",
        "Wang, Li, Khabsa, Fang & Ma",
        "Linformer: Self-Attention with Linear Complexity",
        2020,
        "arXiv:2006.04768",
    ),
    Reference(
        "zaheer2020",
        "Zaheer et al.",
        "Big Bird: Transformers for Longer Sequences",
        2020,
        "arXiv:2007.14062",
    ),
)
"""The publications, by key."""

BIBLIOGRAPHY = {reference.key: reference for reference in (*DECKS, *PAPERS)}


def deck(number: int, detail: str) -> Source:
    """A slide of lecture deck S0 … S4.

    Raises:
        ValueError: no deck has this number.
    """
    return _cite_among(f"S{number}", detail, DECKS)


def paper(key: str, detail: str = "") -> Source:
    """A place in a publication.

    Raises:
        ValueError: a key that the bibliography does not have.
    """
    return _cite_among(key, detail, PAPERS)


def _cite_among(key: str, detail: str, among: tuple[Reference, ...]) -> Source:
    if key not in BIBLIOGRAPHY:
        close = get_close_matches(key, BIBLIOGRAPHY, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"it has: {', '.join(one.key for one in among)}"
        raise ValueError(
            f"spec/bibliography.py has no {key!r}; {hint} A new source is added there; one of your own is publication(…)"
        )
    return Source(BIBLIOGRAPHY[key], detail)


def publication(authors: str, title: str, year: int = 0, link: str = "", detail: str = "") -> Source:
    """A place in a work that this bibliography does not have, for formulas that are stated elsewhere."""
    return Source(Reference(f"{authors} {year}".strip(), authors, title, year, link), detail)
