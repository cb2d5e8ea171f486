/** The German texts of ../imports.ts. */

export const IMPORTS = {
  title: 'Importe',
  start: 'Neuer Import',
  state: 'Status',
  all: 'Alle',
  organization: 'Organisation',
  organizations: 'Organisationen',
  anyOrganization: 'Alle Organisationen',
  filter: 'Filtern',
  import: 'Import',
  usersOf: (organization: string) => `Benutzer von ${organization}`,
  empty: 'Neuer Import',
  check: 'Prüfung',
  checkOf: (id: string) => `Prüfung von Import ${id}`,
  checks: 'Prüfungen',
  drafts: 'Entwürfe',
  source: 'Quelle',
  capped: 'Gezählt sind die neuesten 10.000 Importe.',
  progress: 'Fortschritt',
  rate: 'Tempo',
  failed: 'Fehler',
  started: 'Gestartet',
  notStarted: 'erstellt',
  caption: 'Importe, neueste zuerst',
  next: 'Ältere Importe',
  first: 'Neueste Importe',
  dryRun: 'Probelauf',
  of: (done: string, total: string) => `${done} von ${total}`,
  perSecond: (rate: string) => `${rate}/s`,
  left: (time: string) => `noch ${time}`,
  emptyHeading: 'Noch nichts importiert',
  commandLine: 'Mit der Kommandozeile',
  uploaded: (percent: string) => `${percent} hochgeladen`,
  noneHeading: 'Kein Import passt zum Filter',
  showAll: 'Alle Importe anzeigen',
  commands: [
    'muster login',
    'muster import users.json --org <organization> --dry-run',
    'muster import users.json --org <organization> --watch',
  ],
};

export const GUIDES = {
  title: 'Wo sind Ihre Benutzer jetzt?',
  hint: 'Jede Anleitung (englisch) sagt, wie Sie einen Export mit Passwort-Hashes bekommen und was davon importiert wird.',
  of: (system: string) => `Export aus ${system}`,
  own: { csv: 'eigenes CSV', ndjson: 'eigenes NDJSON' },
};

export const IMPORT_STATES = {
  RUNNING: 'Läuft',
  PAUSED: 'Angehalten',
  UNDOING: 'Wird rückgängig gemacht',
  SUCCEEDED: 'Erfolgreich',
  COMPLETED_WITH_ERRORS: 'Mit Fehlern beendet',
  TIMED_OUT: 'Zeit abgelaufen',
  CANCELLED: 'Abgebrochen',
  UNDONE: 'Rückgängig gemacht',
};

export const CHECK_STATES = {
  RUNNING: () => ({ name: 'Wird geprüft', look: '' }),
  SUCCEEDED: () => ({ name: 'Geprüft: Niemand würde fehlschlagen', look: 'good' }),
  COMPLETED_WITH_ERRORS: (users: number, text: string) => ({
    name: `Geprüft: ${users === 1 ? '1 Benutzer würde' : `${text} Benutzer würden`} fehlschlagen`,
    look: 'still',
  }),
};

export const DRAFT_STATES = {
  UPLOADING: 'Wird hochgeladen',
  CONVERTING: 'Wird umgewandelt',
  UNREADABLE: 'Nicht lesbar',
  DRAFT: 'Entwurf',
  CHECKING: 'Wird geprüft',
  CHECKED: 'Geprüft',
  DISCARDED: 'Verworfen',
};

export const ITEM_STATES = {
  PENDING: 'Offen',
  SUCCEEDED: 'Erfolgreich',
  SKIPPED: 'Übersprungen',
  FAILED: 'Fehlgeschlagen',
  TIMED_OUT: 'Zeit abgelaufen',
  CANCELLED: 'Abgebrochen',
  UNDONE: 'Rückgängig gemacht',
};

export const KEPT = {
  SIGNED_IN: 'hat sich seitdem angemeldet',
  CHANGED: 'seitdem geändert',
  MEMBER: 'hat seitdem eine Rolle bekommen',
  DELETED: 'schon gelöscht',
  NOT_CREATED: 'nicht von diesem Import angelegt',
};

export const UPLOADED = { name: 'Hochgeladen', look: 'good' };
