/** The German texts of ../administrators.ts. */

export const ADMINISTRATORS = {
  title: 'Administratoren',
  intro:
    'Ein Administrator (IAM_OWNER) sieht und darf alles: alle Organisationen, Benutzer, Importe, Clients und den Dienst.',
  user: 'Benutzer',
  since: 'Seit',
  action: 'Aktion',
  you: 'Sie',
  more: (shown: number, total: number) => `Angezeigt werden die ersten ${shown} von ${total}.`,
  add: 'Administrator hinzufügen',
  addEffect: 'Er darf sofort alles, auch Sie entfernen.',
  userId: 'Benutzer-ID',
  userIdHint: 'Sie steht auf der Seite eines Benutzers.',
  remove: 'Entfernen',
  back: 'Zurück, nichts ändern',
  removeTitle: (name: string) => `${name} entfernen`,
  removeEffect: 'Er ist sofort kein Administrator mehr. Rollen in Organisationen bleiben.',
  removeStays: 'Das Konto bleibt, und eine Anmeldung ist weiter möglich.',
  removeSelf:
    'Das sind Sie: Sie sehen den Dienst dann nicht mehr, und nur ein anderer Administrator kann Sie wieder hinzufügen.',
  done: { added: 'Der Administrator ist hinzugefügt.', removed: 'Der Administrator ist entfernt.' },
};
