-- Count what is on some lists. KEYS: lists. ARGV: list …
local number = 0
for n = 1, #ARGV do
  local head = '(' .. ARGV[n] .. '\0'
  number = number + redis.call('ZLEXCOUNT', KEYS[1], head, head .. ':')
end
return number
