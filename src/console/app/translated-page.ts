/**
 * Pages that the browser translates. Chrome puts a FONT element with the translation in the place of each text. React goes on with the node
 * of the text: to remove it, or to put something before it, would throw and end the page, and a text that changes would not be seen.
 */

/** by the nodes of texts that are no longer in the page */
const translations = new WeakMap<Node, Element>();

/** From now on, what React does with a text that was translated is done with its translation. */
export function followTranslations(): void {
  const observer = new MutationObserver((records) => {
    for (const { type, target, removedNodes, addedNodes, nextSibling, previousSibling } of records) {
      if (type === 'characterData') showChanged(target);
      const translation = [...addedNodes, nextSibling, previousSibling].find((node) => node?.nodeName === 'FONT');
      if (translation === undefined) continue;
      for (const text of [...removedNodes].filter(isLost)) {
        translations.set(text, translation as Element);
        observer.observe(text, { characterData: true });
      }
    }
  });
  observer.observe(document.body, { childList: true, subtree: true });
  redirectChanges();
}

const isText = ({ nodeType }: Node): boolean => nodeType === Node.TEXT_NODE;

const isLost = (node: Node): boolean => isText(node) && node.parentNode === null;

/** The browser translates it again. */
function showChanged(text: Node): void {
  const translation = translations.get(text);
  if (translation !== undefined && isLost(text)) translation.textContent = text.nodeValue;
}

/** What `parent` has where React put a text: the text, the translation that has it inside or replaces it, or nothing. */
function placeOf(parent: Node, text: Node): Node | null {
  for (let node: Node | null = text; node !== null; node = node.parentNode) if (node.parentNode === parent) return node;
  const translation = translations.get(text);
  return translation?.parentNode === parent ? translation : null;
}

function redirectChanges(): void {
  const { insertBefore, removeChild } = Node.prototype;
  Node.prototype.insertBefore = function <T extends Node>(this: Node, node: T, before: Node | null): T {
    return insertBefore.call(this, node, before !== null && isText(before) ? placeOf(this, before) : before) as T;
  };
  Node.prototype.removeChild = function <T extends Node>(this: Node, child: T): T {
    const place = isText(child) ? placeOf(this, child) : child;
    if (place !== null) removeChild.call(this, place);
    return child;
  };
}
