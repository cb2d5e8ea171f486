/**
 * `<rate-chart value="…">`: says the values of the interval below the pointer or the finger, and marks it, also when the
 * curve moves below a pointer that rests, or `live.ts` puts a new drawing there.
 */

/** As `valuesOf` of `imports/chart.ts` writes it. */
interface Interval {
  end: number;
  ms: number;
  rate: number;
  users: number;
  failed: number;
}

const WIDTH = 600;
const HEIGHT = 120;
const language = document.documentElement.lang;
const NUMBERS = new Intl.NumberFormat(language);
const CLOCK = new Intl.DateTimeFormat(language, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

/** Where the pointer is in the drawing of the page; undefined: elsewhere. */
let pointer: { clientX: number; clientY: number } | undefined;

class RateChart extends HTMLElement {
  readonly #changes = new MutationObserver(() => this.#draw());

  connectedCallback(): void {
    const drawing = this.querySelector('svg') as SVGSVGElement;
    for (const type of ['pointermove', 'pointerdown', 'pointerleave'] as const) {
      drawing.addEventListener(type, ({ clientX, clientY }) => {
        pointer = type === 'pointerleave' ? undefined : { clientX, clientY };
        this.#draw();
      });
    }
    const values = this.querySelector('[data-text="chart.values"]');
    if (values) this.#changes.observe(values, { childList: true, characterData: true, subtree: true });
    // A drawing that was replaced has said nothing of a pointer that left.
    if (pointer && !drawing.contains(document.elementFromPoint(pointer.clientX, pointer.clientY))) pointer = undefined;
    this.#draw();
  }

  disconnectedCallback(): void {
    this.#changes.disconnect();
  }

  #draw(): void {
    if (!pointer) {
      this.#show('', '');
      return;
    }
    const { left, width } = (this.querySelector('svg') as SVGSVGElement).getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (pointer.clientX - left) / width));
    const { begin, end, intervals } = this.#values();
    const at = begin + share * (end - begin);
    const interval = intervals.find((one) => at >= one.end - one.ms && at <= one.end);
    if (!interval) {
      this.#show('', '');
      return;
    }
    const x = ((interval.end - interval.ms / 2 - begin) / (end - begin)) * WIDTH;
    const values: Record<string, string> = {
      time: CLOCK.format(interval.end),
      rate: NUMBERS.format(interval.rate),
      users: NUMBERS.format(interval.users),
      failed: NUMBERS.format(interval.failed),
    };
    const text = (this.getAttribute('value') as string).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '');
    this.#show(text, `M${x} 0V${HEIGHT}`);
  }

  #show(text: string, line: string): void {
    const value = this.querySelector('.chart-value');
    if (value) value.textContent = text;
    this.querySelector('.pointer')?.setAttribute('d', line);
  }

  /** Live updates replace the text, so it is read when it is needed. */
  #values(): { begin: number; end: number; intervals: Interval[] } {
    const text = this.querySelector('[data-text="chart.values"]')?.textContent ?? '';
    const [[begin = 0, end = 1] = [], ...rows] = text.split(' ').map((row) => row.split(',').map(Number));
    const intervals = rows.map(([at = 0, ms = 0, rate = 0, users = 0, failed = 0]) => {
      return { end: at, ms, rate, users, failed };
    });
    return { begin, end, intervals };
  }
}

customElements.define('rate-chart', RateChart);
