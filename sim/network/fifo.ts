/** First in, first out, in amortised constant time. */
export class Fifo<Item> {
  private items: Item[] = [];
  private head = 0;

  get length(): number {
    return this.items.length - this.head;
  }

  push(item: Item): void {
    this.items.push(item);
  }

  peek(): Item | undefined {
    return this.items[this.head];
  }

  shift(): Item | undefined {
    if (this.head === this.items.length) return undefined;
    const item = this.items[this.head++];
    if (this.head * 2 >= this.items.length) {
      this.items.splice(0, this.head);
      this.head = 0;
    }
    return item;
  }

  /** The items, first first. */
  list(): Item[] {
    return this.items.slice(this.head);
  }

  replace(items: readonly Item[]): void {
    this.items = items.slice();
    this.head = 0;
  }
}
