// How far responses lie from what is expected of a model at its ability, and how sure that is.

// One response with what is expected: `slope` is its change along ability, `spread` the variance of a share.
function responseOf(scale, row, k, answer) {
  if (answer === null) return null;
  const { curve } = scale;
  if (!isPlaced(scale)) return { row, answer };
  const ability = scale.answers.ability[k];
  const step = (curve.to - curve.from) / 80;
  const [before, expected, after] = [-step, 0, step].map((by) => expectedAt(scale, row, ability + by));
  const spread = Math.max((expected - curve.low) * (curve.high - expected), 0);
  return { row, answer, expected, slope: (after - before) / (2 * step), spread, off: (answer - expected) / (curve.high - curve.low || 1) };
}

const sumOf = (list, value) => list.reduce((sum, one) => sum + value(one), 0);
const meanOf = (list, value) => sumOf(list, value) / Math.max(list.length, 1);

// What all responses of a model tell: its information, and how scores scatter compared with shares.
function wholeOf(given, binary) {
  const spread = sumOf(given, (one) => one.spread);
  const scatter = sumOf(given, (one) => (one.answer - one.expected) ** 2);
  const wide = binary || !(spread > 0) ? 1 : scatter / spread;
  const informing = given.filter((one) => one.spread > 0);
  return { wide, information: sumOf(informing, (one) => one.slope ** 2 / (wide * one.spread || 1)) };
}

// The standard error of the mean of response − expected over some of them: from the variance that the model gives them,
// or from their own scatter where that is larger, less what the ability, estimated from the same responses, takes up.
function errorOfDifference(list, { wide, information }) {
  const variance = wide * sumOf(list, (one) => one.spread);
  const scatter = sumOf(list, (one) => (one.answer - one.expected) ** 2);
  const taken = variance > 0 ? sumOf(list, (one) => one.slope) ** 2 / (information + 1) / variance : 0;
  return Math.sqrt(Math.max(variance, scatter) * Math.max(1 - taken, 0)) / Math.max(list.length, 1);
}
