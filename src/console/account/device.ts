/** The name of a browser and its system, from the `User-Agent` header: enough to recognize a device of one's own. */
import { ACCOUNT } from '../texts/account.ts';

type Names = readonly (readonly [pattern: RegExp, name: string])[];

/** Most browsers also name those that they are derived from, so the first match counts. */
const BROWSERS: Names = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:HeadlessChrome|Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];

const SYSTEMS: Names = [
  [/\bWindows\b/, 'Windows'],
  [/\bAndroid\b/, 'Android'],
  [/\b(?:iPhone|iPad|iPod)\b/, 'iOS'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** `Firefox on Linux`; `Browser` for one that is not known. */
export function deviceName(userAgent: string | undefined): string {
  const browser = nameIn(BROWSERS, userAgent) ?? ACCOUNT.browser;
  const system = nameIn(SYSTEMS, userAgent);
  return system === undefined ? browser : ACCOUNT.on(browser, system);
}

function nameIn(names: Names, userAgent = ''): string | undefined {
  return names.find(([pattern]) => pattern.test(userAgent))?.[1];
}
