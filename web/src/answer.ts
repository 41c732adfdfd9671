/** An answer, as docs/answers.md tells it field by field. */

export type Status = "answered" | "partial" | "abstained" | "refused" | "failed";
export type Tier = "sure" | "likely";
export type Scalar = string | number | boolean | null;
export type Json = Scalar | Json[] | { [name: string]: Json };

export interface Citation {
  number: number;
  passage: string;
  document: string;
  sha256: string;
  title: string;
  page: number | null;
  start: number;
  end: number;
  quote: string;
  path: string | null;
  origin: "library" | "web";
  url: string | null;
  fetched: string | null;
}

export interface Computation {
  operation: "difference" | "sum" | "least" | "most" | "same" | "years";
  operands: { text: string; citation: number; name: string | null }[];
  result: string;
}

export interface Claim {
  text: string;
  citations: number[];
  support: number | null;
  supported: boolean | null;
  computation: Computation | null;
}

export interface AnswerPart {
  question: string;
  short: string | null;
  citations: number[];
}

export interface ChoiceOption {
  letter: string;
  text: string;
  verdicts: { element: number; met: "met" | "not met" | "unknown"; fact: string | null }[];
  reason: string;
}

export interface Choice {
  letter: string | null;
  text: string | null;
  options: ChoiceOption[];
  elements: { text: string; citations: number[] }[];
  model: string | null;
  grounded: boolean;
  agreed: boolean | null;
  confidence: number | null;
  why: string;
}

export interface ResearchStep {
  id: number;
  phase: string;
  question: string;
  status: "pending" | "completed" | "weak" | "failed";
  attempt: number;
  retry_of: number | null;
  confidence: number | null;
  model: string | null;
  queries: string[];
  claims: number[];
  cut: number;
  evidence: {
    passage: string;
    rank: number;
    score: number;
    relevance: number | null;
    answer_score: number | null;
    cosine: number | null;
    kept: boolean;
    why: string;
  }[];
}

export interface Research {
  query_type: "simple" | "multi_hop";
  classified_by: string;
  escalated: boolean;
  cycles: number;
  completed: number;
  weak: number;
  failed: number;
  pending: number;
  steps: ResearchStep[];
  screen: { verdict: string; by: string | null; where: string | null; reasons: string[] };
  quarantined: number;
  recalled: { question: string; created: string; run: string; similarity: number } | null;
  remembered: boolean;
  stopped: string;
}

export interface ResultTable {
  columns: string[];
  rows: Scalar[][];
  total_rows: number;
}

export interface AnalysisFigure {
  kind: "plotly" | "png";
  title: string;
  data: Json;
}

export interface Analysis {
  kind: "computed" | "generated" | "concept" | "limitation" | "survey";
  reading: string;
  columns: { asked: string; table: string; column: string; score: number; how: string }[];
  sql: string | null;
  code: string | null;
  result: Json;
  stdout: string;
  table: ResultTable | null;
  figures: AnalysisFigure[];
  checks: { name: string; passed: boolean; said: string }[];
  attempts: { code: string; status: string; error: string | null }[];
  remedies: { cause: string; action: string; guidance: string }[];
  inputs: { name: string; id: string; title: string; rows: number; path: string | null }[];
  sandbox: string | null;
  grounded: boolean;
}

export interface SeenPassage {
  id: string;
  document: string;
  title: string;
  page: number | null;
  start: number;
  end: number;
  score: number;
  fusion_score: number | null;
  dense_rank: number | null;
  dense_score: number | null;
  lexical_rank: number | null;
  lexical_score: number | null;
  rerank_score: number | null;
  answer_score: number | null;
  grade: "relevant" | "irrelevant" | "not graded";
  answers: boolean | null;
  graded_by: string | null;
  kept: boolean;
  why: string;
  origin: "library" | "web";
  url: string | null;
  text: string | null;
}

export interface Step {
  node: string;
  workflow?: string | null;
  said: string;
  numbers: Record<string, Scalar>;
  route: { to: string; why: string } | null;
  seconds: number;
}

export interface Trouble {
  node: string;
  error: string;
  message: string;
  consequence: string;
}

export interface Usage {
  calls: number;
  tokens_in: number;
  tokens_out: number;
  tokens_cached: number;
  cost: number | null;
  seconds: number;
}

export interface Answer {
  run: string;
  question: string;
  asked: string;
  workflow: string;
  method:
    | "extractive"
    | "generative"
    | "computed"
    | "outline"
    | "summary"
    | "survey"
    | "catalogue"
    | "none";
  model: string | null;
  text: string;
  short: string | null;
  status: Status;
  tier: Tier | null;
  stop_reason: string;
  claims: Claim[];
  citations: Citation[];
  confidence: { value: number | null; label: "provisional" | "calibrated"; reasons: string[] };
  grounded: { value: "yes" | "no" | "not checked"; score: number | null };
  useful: { value: "yes" | "no" | "not checked"; score: number | null };
  parts: AnswerPart[];
  assumed: string | null;
  asks_back: string | null;
  choice: Choice | null;
  research: Research | null;
  values: Record<string, Json>;
  analysis: Analysis | null;
  needs_review: boolean;
  queries: string[];
  passages: SeenPassage[];
  attempts: number;
  regenerations: number;
  web_used: boolean;
  warnings: Trouble[];
  steps: Step[];
  usage: Usage;
  created: string;
  version: string;
}
