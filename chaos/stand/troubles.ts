/**
 * When and where something was broken: the checker needs it to judge repeated mails.
 *
 * A place is a process (`worker-1`) or a store (`postgres`).
 */
export interface Troubles {
  /** Something begins to be broken; call the result when it works again. */
  begin(place: string): () => void;
  /** Whether the place was broken at any time in these milliseconds since 1970. */
  any(place: string, from: number, to: number): boolean;
}

interface Trouble {
  place: string;
  from: number;
  to: number;
}

export function openTroubles(): Troubles {
  const troubles: Trouble[] = [];
  return {
    begin(place) {
      const trouble = { place, from: Date.now(), to: Number.POSITIVE_INFINITY };
      troubles.push(trouble);
      return () => {
        trouble.to = Date.now();
      };
    },
    any: (place, from, to) => troubles.some((one) => one.place === place && one.from <= to && one.to >= from),
  };
}
