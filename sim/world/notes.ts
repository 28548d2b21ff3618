import { NOTES_MAX, type Note } from './timeline.ts';

/** The world's notes, in the order in which things happened; those beyond NOTES_MAX are dropped. */
export class NoteList {
  private list: Note[] = [];

  get all(): readonly Note[] {
    return this.list;
  }

  add(note: Note): void {
    if (this.list.length < NOTES_MAX) this.list.push(note);
  }

  capture(): readonly Note[] {
    return this.list.slice();
  }

  restore(state: readonly Note[]): void {
    this.list = state.slice();
  }
}
