// Weights by hand, and what they do to the nDCG of a judged set, half of which is held back.

import { fill, h } from "./dom.js";
import { search } from "./request.js";
import { post } from "./session.js";
import { figure } from "./words.js";

const ARMS = ["lexical", "vector"];
const MOST = 4;

/** Draw a slider for each arm, and the figures of a judged set; `changed` searches anew. */
export function tuning(overview, changed) {
  const measured = new Measured(overview);
  const sliders = h("div", { class: "sliders" }, ARMS.map((arm) => slider(arm, measured, changed)));
  const reset = h("button", { class: "quiet", type: "button", click: () => {
    search.weights = {};
    changed("adjusted");
    measured.ask();
  } }, "As the profile has them");
  measured.showWeights = (weights) => {
    for (const arm of ARMS) showWeight(sliders, arm, search.weights[arm] ?? weights[arm]);
    reset.hidden = !Object.keys(search.weights).length;
  };
  measured.ask();
  return { element: h("fieldset", { class: "facet tuning" }, h("legend", {}, "Weights"), sliders, reset, measured.element), ask: () => measured.ask() };
}

function slider(arm, measured, changed) {
  const input = h("input", { type: "range", min: 0, max: MOST, step: 0.05, "data-arm": arm, "aria-label": `weight of ${arm}`,
    input: () => {
      search.weights = { ...search.weights, [arm]: Number(input.value) };
      changed("adjusted");
      measured.ask();
    } });
  return h("label", { class: `slider arm-${arm}` }, h("span", {}, arm), h("output", {}, ""), input);
}

function showWeight(sliders, arm, weight) {
  const input = sliders.querySelector(`[data-arm="${arm}"]`);
  if (document.activeElement !== input) input.value = weight;
  input.parentElement.querySelector("output").textContent = figure(weight, 2);
}

/** The figures of the judged set that is chosen; questions are read once, and fused anew each time. */
class Measured {
  constructor(overview) {
    this.figures = h("div", { class: "figures", role: "status" });
    this.sets = overview.judged_sets;
    this.select = h("select", { change: () => this.ask() }, h("option", { value: "" }, "none"),
      this.sets.map((set) => h("option", { value: this.called(set) }, `${this.called(set)} (${set.queries})`)));
    this.element = overview.judged_sets.length
      ? h("div", {}, h("label", { class: "field" }, "Judged set", this.select), this.figures) : null;
    this.showWeights = () => {};
    this.asked = 0;
  }

  /** A set's name, with its collection where several have a set of the name. */
  called(set) {
    const same = this.sets.filter((other) => other.name === set.name);
    return same.length > 1 ? `${set.name}, ${set.collection ?? "all"}` : set.name;
  }

  /** Ask for the figures under the weights as they are now, again until all questions are read. */
  async ask() {
    const turn = ++this.asked;
    const set = this.sets.find((one) => this.called(one) === this.select.value);
    try {
      for (;;) {
        const found = await post("/page/tune", { judged_set: set?.name ?? "", collection: set?.collection ?? "", profile: search.profile, weights: search.weights });
        if (turn !== this.asked) return;
        this.showWeights(found.weights);
        this.show(found);
        if (found.read >= found.questions) return;
      }
    } catch (error) {
      if (turn === this.asked) fill(this.figures, h("p", { class: "small" }, error.message));
    }
  }

  show({ read, questions, halves }) {
    if (!this.select.value) {
      fill(this.figures);
      return;
    }
    fill(this.figures,
      h("dl", {}, halves.map((half) => h("div", {}, h("dt", {}, half.held_back ? "held back" : "to tune on"),
        h("dd", {}, figure(half.ndcg), h("small", { class: sign(half) }, difference(half)))))),
      h("p", { class: "small" }, read < questions ? `nDCG@10, so far of ${read} of ${questions} questions.`
        : `nDCG@10 of ${questions} questions, each half beside the profile’s own weights. Trust the half that you do not tune on.`),
      read < questions && h("progress", { max: questions, value: read, "aria-label": "questions read" }));
  }
}

const change = ({ ndcg, before }) => (ndcg === null ? 0 : ndcg - before);

const sign = (half) => (Math.abs(change(half)) < 0.0005 ? "same" : change(half) > 0 ? "more" : "less");

const difference = (half) => (sign(half) === "same" ? "±0" : `${change(half) > 0 ? "+" : "–"}${Math.abs(change(half)).toFixed(3)}`);
