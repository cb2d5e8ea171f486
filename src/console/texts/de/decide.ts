/** The German texts of ../decide.ts. */

const users = (n: number, count: string) => (n === 1 ? '1 Benutzer' : `${count} Benutzer`);
const each = (n: number, one: string, many: string) => (n === 1 ? one : many);

export const VERDICT = {
  title: 'Ergebnis der Prüfung',
  all: (n: number, count: string) =>
    n === 1 ? 'Der Benutzer kann importiert werden' : `Alle ${count} Benutzer können importiert werden`,
  some: (count: string, total: string) => `${count} von ${total} Benutzern können importiert werden`,
  nobody: (total: number, count: string) =>
    total === 1 ? 'Der Benutzer kann nicht importiert werden' : `Keiner von ${count} Benutzern kann importiert werden`,
  allSkipped: (n: number, count: string) =>
    n === 1
      ? 'Niemand wird importiert: Der Benutzer wird übersprungen'
      : `Niemand wird importiert: Alle ${count} Benutzer werden übersprungen`,
  known: (n: number, count: string) => `${count} ${each(n, 'meldet', 'melden')} sich mit dem alten Passwort an`,
  PROVIDER: (n: number, count: string) =>
    `${count} ${each(n, 'meldet', 'melden')} sich beim selben Anbieter wie bisher an`,
  PASSKEY: (n: number, count: string) => `${count} ${each(n, 'meldet', 'melden')} sich mit einem Passkey an`,
  MAIL_CODE: (n: number, count: string) => `${count} ${each(n, 'meldet', 'melden')} sich mit einem Code per E-Mail an`,
  SMS_CODE: (n: number, count: string) => `${count} ${each(n, 'meldet', 'melden')} sich mit einem Code per SMS an`,
  INIT_MAIL: (n: number, count: string) =>
    `${count} ${each(n, 'bekommt', 'bekommen')} eine E-Mail, um ein Passwort zu wählen`,
  used: (count: string, provider: string) => `${count} ${count === '1' ? 'hat' : 'haben'} ${provider} benutzt und`,
  anotherProvider: 'einen anderen Anbieter',
  blocked: (n: number, count: string) => `${count} ${each(n, 'ist', 'sind')} gesperrt`,
  held: (n: number, count: string) =>
    `${count} ${each(n, 'braucht', 'brauchen')} eine E-Mail dieses Imports, um ein Passwort zu wählen`,
  unreachable: (count: string) => `${count} nicht erreichbar`,
  shut: (count: string) => `${count} ohne Möglichkeit, sich anzumelden`,
  skipped: (n: number, count: string) => `${count} ${each(n, 'wird', 'werden')} übersprungen`,
  fail: (n: number, count: string) => `${count} ${each(n, 'schlägt', 'schlagen')} fehl`,
  corrected: (n: number, count: string) => `${count} ${each(n, 'wurde', 'wurden')} seitdem korrigiert`,
  unchecked: (n: number, count: string) => `${count} ${each(n, 'wurde', 'wurden')} nicht geprüft`,
};

export const OUTLOOK = {
  organization: 'Wohin sie kommen',
  existing: 'Benutzer, die es schon gibt',
  existingRule: {
    fail: 'Sie bleiben, wie sie sind: Ihre Zeilen in den Dateien schlagen fehl und werden aufgeführt.',
    skip: 'Sie werden übersprungen und bleiben, wie sie sind.',
    update: 'Sie werden mit den Feldern der Dateien aktualisiert.',
  },
  existingNone: 'Es gibt noch keinen der Benutzer.',
  existingFail: (n: number, count: string) =>
    `${users(n, count)} ${each(n, 'schlägt', 'schlagen')} fehl, weil es ${each(n, 'ihn', 'sie')} schon gibt.`,
  existingSkip: (n: number, count: string) =>
    `${users(n, count)} gibt es schon, und ${each(n, 'er wird', 'sie werden')} übersprungen.`,
  existingUpdate: (n: number, count: string) =>
    `${users(n, count)} gibt es schon, und ${each(n, 'er wird', 'sie werden')} geändert. Rückgängig machen ändert sie nicht zurück.`,
  existingSame: (n: number, count: string) =>
    `${users(n, count)} gibt es schon, ohne dass etwas zu ändern ist: ${each(n, 'Er wird', 'Sie werden')} übersprungen.`,
  change: 'Regel ändern',
  blocked: 'Gesperrt und weggelassen',
  inactive: (n: number, count: string) =>
    `${users(n, count)} ${each(n, 'ist', 'sind')} inaktiv und ${each(n, 'bleibt', 'bleiben')} es nach dem Import: Ein Administrator kann sie aktivieren.`,
  locked: (n: number, count: string) =>
    `${users(n, count)} ${each(n, 'ist', 'sind')} gesperrt und ${each(n, 'bleibt', 'bleiben')} es nach dem Import: Ein Administrator kann sie entsperren.`,
  leftOut: (n: number, count: string, why: string) =>
    `${count} ${each(n, 'Datensatz wird', 'Datensätze werden')} weggelassen: ${why}`,
  noneBlocked: 'Kein Benutzer ist inaktiv oder gesperrt, und kein Datensatz wird weggelassen.',
  takes: 'Wie lange es dauert',
  takesBetween: (least: string, most: string) => `Zwischen ${least} und ${most}`,
  takesSeconds: 'Einige Sekunden',
  speed: (rate: string) =>
    `Die Prüfung las ${rate} Benutzer pro Sekunde. Ein Worker schreibt etwa ein Viertel davon; mehr Worker schreiben schneller.`,
  plain: (n: number, count: string) =>
    `${users(n, count)} ${each(n, 'hat', 'haben')} ein Passwort im Klartext, das zuerst gehasht wird: Das dauert länger.`,
  undo: 'Was rückgängig gemacht werden kann',
  canUndo: (n: number, count: string, time: string) =>
    `Bis ${time} nach dem Ende des Imports entfernt Rückgängigmachen ${each(n, 'den Benutzer, den', `die ${count} Benutzer, die`)} er anlegt, solange sie sich nicht angemeldet haben und nichts an ihnen geändert wurde.`,
  cannotUndo: 'Das bringt Rückgängigmachen nicht zurück:',
  cannotMails: (n: number, count: string) =>
    `${count} ${each(n, 'E-Mail, wenn sie', 'E-Mails, wenn sie')} gesendet ${each(n, 'ist', 'sind')}`,
  cannotUpdates: (n: number, count: string) =>
    `${count} vorhandene${each(n, 'n', '')} Benutzer, ${each(n, 'den', 'die')} dieser Import ändert`,
  cannotSignedIn: 'Benutzer, die sich seitdem angemeldet haben: Sie bleiben',
  files: 'Mit dem Start enden die Dateien und dieser Entwurf: Die Dateien werden gelöscht.',
  days: (days: number, count: string) => (days === 1 ? '1 Tag' : `${count} Tage`),
  recommended: 'Beste Abhilfe',
  otherRemedies: 'Andere Abhilfen',
};

export const MAILING = {
  codes: (n: number, count: string) =>
    `${count} zum Anmelden: ${each(n, 'Der Benutzer bekommt', 'Sie bekommen')} bei jeder Anmeldung einen Code per E-Mail`,
  noServer:
    'Es ist kein Mailserver eingestellt. Diese E-Mails erreichen also niemanden: Sie werden als Dateien auf dem Server aufbewahrt. Setzen Sie SMTP_URL, bevor Sie sie senden.',
  noSpf: (domain: string) =>
    `${domain} hat keinen SPF-Eintrag. Viele Mailprogramme behandeln diese E-Mails deshalb als Spam. Fügen Sie im DNS von ${domain} einen hinzu, bevor Sie sie senden.`,
  unknownSpf: (domain: string) => `Das DNS hat nicht rechtzeitig gesagt, ob ${domain} einen SPF-Eintrag hat.`,
  from: 'Absender',
  language: 'Sprache',
  valid: 'Links gelten',
  preview: 'Vorschau:',
  users: (language: string, n: number, count: string) => `${language}, ${users(n, count)}`,
  asHtml: 'Wie Mailprogramme sie zeigen',
  asText: 'Dieselbe E-Mail als Text',
  organization: 'E-Mails der Organisation',
  ofOrganization: (name: string, n: number, count: string) => `${name}: ${count} ${each(n, 'E-Mail', 'E-Mails')}`,
  more: (n: number, count: string) =>
    `${count} weitere ${each(n, 'Organisation hat', 'Organisationen haben')} weniger E-Mails. Geben Sie die ID ein, um sie zu sehen.`,
  organizationId: 'ID einer anderen Organisation',
  show: 'E-Mails anzeigen',
  notInImport: 'Der Import hat keine Organisation mit dieser ID.',
};

export const TRY = {
  title: 'Ein Passwort ausprobieren',
  hint: 'Das Passwort eines Benutzers wird mit dem Hash in den Dateien verglichen, wie bei einer Anmeldung, auch mit dem Pepper. Nichts wird gespeichert, und niemand wird angemeldet.',
  name: 'Benutzername, E-Mail-Adresse oder ID in den Dateien',
  password: 'Passwort dieses Benutzers',
  button: 'Ausprobieren',
  both: 'Geben Sie einen Namen und ein Passwort ein.',
  results: {
    FITS: 'Das Passwort passt.',
    DOES_NOT_FIT: 'Das Passwort passt nicht.',
    NO_HASH: 'Der Eintrag hat kein Passwort.',
    AT_SOURCE: 'Eine Passwortquelle prüft das Passwort bei der ersten Anmeldung.',
    INVALID_ENTRY: 'Dieser Benutzer schlägt fehl, deshalb wurde nichts verglichen.',
    NO_USER: 'In den Dateien gibt es diesen Benutzer nicht.',
  },
};

export const AGAIN = {
  title: 'Noch einmal dieselbe Datei?',
  was: 'wurde importiert mit',
  import: (importId: string) => `Import ${importId}`,
  on: 'am',
  users,
  none: 'Wohin dieser Import geht, gibt es noch keinen dieser Benutzer: Alle sind neu.',
  elsewhere: (n: number, count: string) =>
    `${users(n, count)} ${each(n, 'hat', 'haben')} die ${each(n, 'ID eines Benutzers', 'IDs von Benutzern')} einer anderen Organisation und ${each(n, 'schlägt', 'schlagen')} fehl, was immer hier gewählt ist.`,
  what: 'Was mit Benutzern geschieht, die es schon gibt:',
  rules: {
    skip: 'Überspringen',
    update: 'Aktualisieren',
    fail: 'Trotzdem importieren: Benutzer, die es schon gibt, schlagen fehl',
  },
  chosen: (rule: string) => `Gewählt: ${rule}`,
};
