/**
 * `<fix-cells>`: saves a cell when it is left, and says beside it whether the value is good. Without it, the button of the
 * form saves all cells.
 */

interface Answer {
  message?: string;
  details?: { fieldViolations?: { description: string }[] }[];
  /** Of a user who was corrected and still fails. */
  error?: Omit<Answer, 'error'>;
}

class FixCells extends HTMLElement {
  connectedCallback(): void {
    this.addEventListener('change', ({ target }) => {
      if (target instanceof HTMLInputElement && target.dataset.index) void this.#save(target);
    });
    for (const input of this.querySelectorAll<HTMLInputElement>('input[data-index]')) {
      // It was left before this script had loaded.
      if (input.value !== input.defaultValue && input !== document.activeElement) void this.#save(input);
    }
  }

  async #save(input: HTMLInputElement): Promise<void> {
    const value = input.value;
    try {
      const response = await fetch(`${this.getAttribute('src')}/${input.dataset.index}`, {
        method: 'PATCH',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(this.#patch(value)),
        signal: AbortSignal.timeout(30_000),
      });
      const answer = (await response.json()) as Answer;
      if (input.value !== value) return; // typed again meanwhile
      if (response.ok) {
        const fails = answer.error?.details?.some(({ fieldViolations = [] }) => fieldViolations.length > 0) ?? false;
        this.#say(input, !fails, this.getAttribute(fails ? 'fails' : 'good') as string);
        // How many are corrected; `live.ts` listens.
        document.dispatchEvent(new Event('page-changed'));
      } else if (response.status === 401) this.#say(input, false, this.getAttribute('ended') as string);
      else this.#say(input, false, problemIn(answer) ?? (this.getAttribute('failed') as string));
    } catch {
      // Offline, or too slow: the value stays in the cell.
      this.#say(input, false, this.getAttribute('failed') as string);
    }
  }

  /** A JSON merge patch of the entry. */
  #patch(value: string): unknown {
    const names = (this.getAttribute('field') as string).split('.');
    return names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  }

  #say(input: HTMLInputElement, isGood: boolean, text: string): void {
    input.toggleAttribute('aria-invalid', false);
    if (!isGood) input.setAttribute('aria-invalid', 'true');
    const said = document.getElementById(`${input.id}-said`);
    if (!said) return;
    said.className = `said small ${isGood ? 'good' : ''}`;
    said.textContent = text;
  }
}

function problemIn({ message, details = [] }: Answer): string | undefined {
  const all = details.flatMap(({ fieldViolations }) => fieldViolations ?? []).map(({ description }) => description);
  return all.join('; ') || message;
}

customElements.define('fix-cells', FixCells);
