// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// A wallet that is a contract, for the local chain. It accepts the signatures that clients make for Coinbase Smart Wallet
/// (https://github.com/coinbase/smart-wallet), from owners that have a key. It can only sign, not execute calls.
contract LocalSmartWallet {
    bytes[] private owners;

    constructor(bytes[] memory initialOwners) {
        owners = initialOwners;
    }

    struct SignatureWrapper {
        uint256 ownerIndex;
        bytes signatureData;
    }

    function ownerAtIndex(uint256 index) public view returns (bytes memory) {
        return owners[index];
    }

    /// The owner signs the wallet's address as well, so the signature is worth nothing for the owner's other wallets.
    function replaySafeHash(bytes32 hash) public view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("Coinbase Smart Wallet"),
                keccak256("1"),
                block.chainid,
                address(this)
            )
        );
        bytes32 message = keccak256(abi.encode(keccak256("CoinbaseSmartWalletMessage(bytes32 hash)"), hash));
        return keccak256(abi.encodePacked("\x19\x01", domain, message));
    }

    /// ERC-1271
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        SignatureWrapper memory wrapper = abi.decode(signature, (SignatureWrapper));
        bytes memory data = wrapper.signatureData;
        if (wrapper.ownerIndex >= owners.length || data.length != 65) return 0xffffffff;
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly {
            r := mload(add(data, 0x20))
            s := mload(add(data, 0x40))
            v := byte(0, mload(add(data, 0x60)))
        }
        address owner = abi.decode(owners[wrapper.ownerIndex], (address));
        address signer = ecrecover(replaySafeHash(hash), v, r, s);
        return signer != address(0) && signer == owner ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }
}

/// The factory of these wallets, with the functions of Coinbase Smart Wallet's factory.
contract LocalSmartWalletFactory {
    function createAccount(bytes[] calldata owners, uint256 nonce) external payable returns (address account) {
        account = getAddress(owners, nonce);
        if (account.code.length == 0) new LocalSmartWallet{salt: saltOf(owners, nonce)}(owners);
    }

    /// CREATE2 (EIP-1014)
    function getAddress(bytes[] calldata owners, uint256 nonce) public view returns (address) {
        bytes32 code = keccak256(abi.encodePacked(type(LocalSmartWallet).creationCode, abi.encode(owners)));
        return address(
            uint160(uint256(keccak256(abi.encodePacked(bytes1(0xff), address(this), saltOf(owners, nonce), code))))
        );
    }

    function saltOf(bytes[] calldata owners, uint256 nonce) private pure returns (bytes32) {
        return keccak256(abi.encode(owners, nonce));
    }
}
