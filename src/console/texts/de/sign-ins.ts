/** The German texts of ../sign-ins.ts. */

export const SIGN_INS = {
  before: 'Wer sich anmelden kann',
  after: 'Wie sie sich anmelden',
  users: 'Benutzer',
  how: 'Wie',
  why: 'Warum',
  remedies: 'Was Sie tun können',
  groups: {
    known: 'Mit dem, was sie kennen',
    other: 'Mit etwas anderem',
    none: 'Können sich nicht anmelden',
  },
  ways: {
    PASSWORD: 'Ihr Passwort',
    PASSWORD_SOURCE: 'Ihr Passwort, bei einer Passwortquelle',
    PROVIDER: 'Ein externer Anbieter',
    PASSKEY: 'Ein Passkey',
    MAIL_CODE: 'Ein Code per E-Mail',
    SMS_CODE: 'Ein Code per SMS',
    INIT_MAIL: 'Ein Passwort, das sie per E-Mail wählen',
    NONE: 'Gar nicht',
  },
  since: 'Wer sich seitdem angemeldet hat',
  signedIn: 'Haben sich angemeldet',
  notYet: 'Noch nicht angemeldet',
  mailsTitle: 'E-Mails an die übrigen',
  mailed: 'Geschrieben',
  mailsSent: 'Gesendet',
  mailsFailed: 'Fehlgeschlagen',
  asked: 'Zuletzt angefordert',
  stopped:
    'vorzeitig beendet: Wer sie angefordert hat, darf es nicht mehr, oder der Import lief wieder oder wurde rückgängig gemacht',
  day: 'Tag (UTC)',
  curve: (signedIn: string, all: string, from: string, to: string) =>
    `${signedIn} von ${all} Benutzern haben sich angemeldet, vom ${from} bis zum ${to}.`,
  has: 'Hat sich angemeldet',
  anyone: 'Alle Benutzer',
  way: 'Meldet sich an mit',
  anyWay: 'Egal womit',
  different: 'Was für sie anders ist',
  missing: 'Was dieser Export nicht enthält',
  unknownLinks: 'Anbieter, bei denen Benutzer Konten haben und die nicht eingerichtet sind',
  setUp: 'Diesen Anbieter einrichten',
  preset: (type: string) => `Fügen Sie einen Anbieter vom Typ ${type} hinzu.`,
  moreLinks: (names: string) => `Und ${names} weitere Namen.`,
  passwordSource: 'Das Passwort von einer Passwortquelle prüfen lassen',
  policy: 'Ändern, wie Benutzer sich anmelden',
  allowCodes: 'Benutzern von Firmenverbindungen einen Code per E-Mail erlauben',
  mails: 'Die E-Mails des Imports senden',
  sendMails: 'Die zurückgehaltenen E-Mails senden',
  columns: 'Sagen, welche Spalte die Adresse hat',
  failWithout: (users: number, count: string) =>
    users === 1
      ? '1 Benutzer schlägt fehl, weil er keine E-Mail-Adresse hat.'
      : `${count} Benutzer schlagen fehl, weil sie keine E-Mail-Adresse haben.`,
  withoutEmail: 'Benutzer ohne E-Mail-Adresse importieren',
};
