/** The German texts of ../problems.ts: what the API says, and the same in German. `$1` is a part of it. */
export const PROBLEMS: readonly [english: RegExp, german: string][] = [
  [/^is required$/, 'fehlt'],
  [/^must not be empty$/, 'darf nicht leer sein'],
  [/^must be a string$/, 'muss ein Text sein'],
  [/^must be an email address such as (.+)$/, 'muss eine E-Mail-Adresse sein, zum Beispiel $1'],
  [/^must be a phone number such as (.+)$/, 'muss eine Telefonnummer sein, zum Beispiel $1'],
  [/^must be a language tag such as (\S+) or (\S+)$/, 'muss ein Sprachkürzel sein, zum Beispiel $1 oder $2'],
  [/^must be a URL$/, 'muss eine URL sein'],
  [/^must be a URL such as (.+)$/, 'muss eine URL sein, zum Beispiel $1'],
  [/^must be a URL that starts with (.+)$/, 'muss eine URL sein, die mit $1 beginnt'],
  [/^must be an absolute URI such as (\S+) or (\S+)$/, 'muss eine absolute URI sein, zum Beispiel $1 oder $2'],
  [/^must have at most (\d+) characters$/, 'darf höchstens $1 Zeichen haben'],
  [/^must have at most (\d+) elements$/, 'darf höchstens $1 Einträge haben'],
  [/^must contain only printable characters$/, 'darf nur druckbare Zeichen enthalten'],
  [/^must not contain the invisible character (.+)$/, 'darf das unsichtbare Zeichen $1 nicht enthalten'],
  [/^(\w+): the variant (\S+) is not supported \(.+\)$/, '$1: Die Variante $2 wird nicht unterstützt'],
  [
    /^This user name appears earlier in this import, in the same organization\.$/,
    'Diesen Benutzernamen gibt es weiter vorn in diesem Import, in derselben Organisation.',
  ],
  [/^This userId appears earlier in this import\.$/, 'Diese Benutzer-ID gibt es weiter vorn in diesem Import.'],
  [/^This user appears earlier in this import\.$/, 'Diesen Benutzer gibt es weiter vorn in diesem Import.'],
  [
    /^A user with this user name already exists in the organization\.$/,
    'Einen Benutzer mit diesem Benutzernamen gibt es in der Organisation schon.',
  ],
  [
    /^A user with this userId already exists, or existed in another organization\.$/,
    'Einen Benutzer mit dieser ID gibt es schon, oder es gab ihn in einer anderen Organisation.',
  ],
  [/^The user does not exist\.$/, 'Den Benutzer gibt es nicht.'],
];
