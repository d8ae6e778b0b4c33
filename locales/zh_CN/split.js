// Cuts what a reader types into words; see npudocs/site/search_zh.py.
var splitQuery = (query) => {
  const index = Search._index ?? {};
  const known = new Set([...Object.keys(index.terms ?? {}), ...Object.keys(index.titleterms ?? {})]);
  const cut = (text) => {
    const characters = [...text];
    const found = [];
    for (let start = 0; start < characters.length; ) {
      let end = characters.length;
      while (end > start + 1 && !known.has(characters.slice(start, end).join(""))) end -= 1;
      if (end > start + 1) found.push(characters.slice(start, end).join(""));
      start = end;
    }
    return found.length ? found : [text];
  };
  return query
    .split(/[^\p{Letter}\p{Number}_\p{Emoji_Presentation}]+|(\p{Script=Han}+)/gu)
    .filter((term) => term)
    .flatMap((term) => (/\p{Script=Han}/u.test(term) ? cut(term) : [term]));
};
