/**
 * Tells the `state` of an address from the state of a user, by the values of the whole column and by the columns beside
 * it.
 *
 * Guarantee: a column with a single word for a state of users is one; so is a column that is not mostly regions, as its
 * unknown words then keep their users out.
 */
import type { Fields } from './source.ts';
import { MAY_BE_REGIONS, OF_ADDRESS } from './state-names.ts';
import { isStateWord } from './states.ts';
import { plainName, textAt } from './values.ts';

const CODE = /^[A-Z]{2,3}$/;
const NAMES = new Set(
  `alabama|alaska|arizona|arkansas|california|colorado|connecticut|delaware|district of columbia|florida|georgia|hawaii|
idaho|illinois|indiana|iowa|kansas|kentucky|louisiana|maine|maryland|massachusetts|michigan|minnesota|mississippi|missouri|
montana|nebraska|nevada|new hampshire|new jersey|new mexico|new york|north carolina|north dakota|ohio|oklahoma|oregon|
pennsylvania|rhode island|south carolina|south dakota|tennessee|texas|utah|vermont|virginia|washington|west virginia|
wisconsin|wyoming|puerto rico|alberta|british columbia|manitoba|new brunswick|newfoundland and labrador|nova scotia|ontario|
prince edward island|quebec|québec|saskatchewan|yukon|nunavut|northwest territories|new south wales|victoria|queensland|
south australia|western australia|tasmania|northern territory|australian capital territory|baden-württemberg|bayern|bavaria|
berlin|brandenburg|bremen|hamburg|hessen|mecklenburg-vorpommern|niedersachsen|nordrhein-westfalen|rheinland-pfalz|saarland|
sachsen|sachsen-anhalt|schleswig-holstein|thüringen|england|scotland|wales|northern ireland`
    .replaceAll('\n', '')
    .split('|'),
);

/** The part of the values that must be regions. */
const MOST = 0.8;

/** Looks at all columns that may be either. */
export function openRegionChecks(): {
  see(record: Fields): void;
  /** Those that hold the states of addresses. */
  found(): string[];
} {
  const checks = new Map<string, RegionCheck>();
  return {
    see(record) {
      for (const column of Object.keys(record)) {
        if (!MAY_BE_REGIONS.includes(plainName(column))) continue;
        const check = checks.get(column) ?? openRegionCheck(column);
        checks.set(column, check);
        check.see(record);
      }
    },
    found: () => [...checks].filter(([, check]) => check.isOfAddress()).map(([column]) => column),
  };
}

interface RegionCheck {
  see(record: Fields): void;
  /** Whether the column holds the states of addresses. */
  isOfAddress(): boolean;
}

function openRegionCheck(column: string): RegionCheck {
  let hasAddress = false;
  let filled = 0;
  let regions = 0;
  let hasWord = false;
  return {
    see(record) {
      hasAddress ||= Object.keys(record).some((name) => OF_ADDRESS.test(plainName(name)));
      const text = textAt(record, column);
      if (text === undefined) return;
      filled++;
      hasWord ||= isStateWord(text);
      if (CODE.test(text) || NAMES.has(text.toLowerCase())) regions++;
    },
    isOfAddress: () => hasAddress && !hasWord && filled > 0 && regions >= MOST * filled,
  };
}
